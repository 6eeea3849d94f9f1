#pragma once

#include <simdjson.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "event/field_rule.h"
#include "everstep/error.h"

namespace everstep {

// A member of the document that matches its rule and has a slot.
struct FoundField {
  const FieldRule* rule;
  simdjson::dom::element value;
  std::int64_t number = 0;  // of an integer; of a timestamp, in microseconds
};

// The result of a check. Reuse it for the next document, so that valid documents need no
// allocation.
struct Findings {
  std::vector<FoundField> found;  // in the document's order
  std::vector<Fault> faults;      // violations of the rules; the first kFaultsMax
  std::vector<Fault> repeated;    // members repeated in an object, at any depth; likewise

  void Clear();
};

// Bounds the size of the error for a hostile document.
inline constexpr std::size_t kFaultsMax = 256;

// A compiled ObjectRule: checks an object in one pass with one hash probe per member. Immutable and
// thread-safe.
class FieldCheck {
 public:
  // `rule` and everything it refers to must outlive the check.
  explicit FieldCheck(const ObjectRule& rule);
  FieldCheck(FieldCheck&&) = default;
  FieldCheck& operator=(FieldCheck&&) = default;

  // Checks the document and adds the results to `findings`.
  void Run(simdjson::dom::object document, Findings& findings) const;

 private:
  struct Place;

  const FieldRule* Find(std::string_view name) const;
  void CheckObject(simdjson::dom::object object, const Place& place, Findings& findings) const;
  void CheckField(const FieldRule& rule, simdjson::dom::element value, const Place& place,
                  Findings& findings) const;
  bool CheckNested(const FieldRule& rule, simdjson::dom::element value, const Place& place,
                   Findings& findings) const;
  static bool CheckTexts(simdjson::dom::element value, const Place& place, Findings& findings);
  void ReportUnknown(std::string_view name, const Place& place, Findings& findings) const;

  static void FindRepeats(simdjson::dom::element value, const Place& place, Findings& findings);
  static void FindRepeatsIn(simdjson::dom::object object, const Place& place, Findings& findings);

  const ObjectRule* rule_;
  std::uint64_t required_ = 0;                       // bit per field
  std::vector<std::unique_ptr<FieldCheck>> nested_;  // per field; null if it has no object
  std::array<std::uint8_t, 256> probe_{};            // hash of a name -> field + 1
};

// Returns the error for a document of event `name`: kInvalidJson for repeated members, else
// kSchemaValidationFailed; nothing if there are no faults. Moves the faults out of `findings`.
std::optional<Error> ErrorOf(std::string_view name, Findings& findings);

// Returns whether a single value matches the rule (ignoring `required`). `json` may be malformed.
bool Fits(const FieldRule& rule, std::string_view json);

// Describes the values that the rule accepts: "an integer from 1 to 4294967295" and so on.
std::string Expectation(const FieldRule& rule);

// The value of a number that is an integer in JSON Schema's sense; nothing if it is not, or if it
// does not fit 64 bits.
std::optional<std::int64_t> IntegerOf(simdjson::dom::element value);

}  // namespace everstep
