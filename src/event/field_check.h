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

// A member that was found, fits its rule and has a slot.
struct FoundField {
  const FieldRule* rule;
  simdjson::dom::element value;
  std::int64_t number = 0;  // of an integer; of a timestamp, in microseconds
};

// What a check has to say. Meant to be kept and used again, so that a valid document costs no
// allocation.
struct Findings {
  std::vector<FoundField> found;  // in the document's order
  std::vector<Fault> faults;      // what the rules forbid; the first kFaultsMax
  std::vector<Fault> repeated;    // members that occur twice in one object, at any depth; likewise

  void Clear();
};

// A hostile document cannot make an answer much larger than itself.
inline constexpr std::size_t kFaultsMax = 256;

// An ObjectRule, compiled: one pass over an object, one probe per member. Immutable; any thread.
class FieldCheck {
 public:
  // `rule` and all it refers to must outlive the check.
  explicit FieldCheck(const ObjectRule& rule);
  FieldCheck(FieldCheck&&) = default;
  FieldCheck& operator=(FieldCheck&&) = default;

  // Adds to `findings` all that is to say of the document.
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
  std::vector<std::unique_ptr<FieldCheck>> nested_;  // per field, where it has an object
  std::array<std::uint8_t, 256> probe_{};            // hash of a name -> field + 1
};

// Why a document of event `name` is refused: kInvalidJson for repeated members, else
// kSchemaValidationFailed; nothing when the findings hold no fault. Takes the faults out of them.
std::optional<Error> ErrorOf(std::string_view name, Findings& findings);

// Does a single value fit the rule (ignoring `required`)? For JSON text of unknown origin.
bool Fits(const FieldRule& rule, std::string_view json);

// "an integer from 1 to 4294967295" and so on: what would be right.
std::string Expectation(const FieldRule& rule);

// The value of a number that JSON Schema calls an integer; nothing when it is none or does not fit.
std::optional<std::int64_t> IntegerOf(simdjson::dom::element value);

}  // namespace everstep
