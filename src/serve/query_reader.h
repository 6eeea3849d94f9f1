#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/timestamp.h"
#include "everstep/result.h"
#include "serve/text_rule.h"

namespace everstep {

// Parses query parameters strictly and reports all faults at once. Asking for a parameter makes it
// known; unknown and repeated parameters are faults. `query` is as received; names passed in must
// outlive the reader. Not thread-safe.
class QueryReader {
 public:
  explicit QueryReader(std::string_view query);

  std::optional<std::string> Text(std::string_view name, const TextRule& rule = kShortText);
  std::optional<std::int64_t> Integer(std::string_view name, std::int64_t min, std::int64_t max);
  std::optional<bool> Flag(std::string_view name);  // true or false
  std::optional<std::chrono::milliseconds> Duration(std::string_view name,
                                                    std::chrono::milliseconds max);
  std::optional<Timestamp> Time(std::string_view name);
  // Returns the index of the given word.
  std::optional<std::size_t> Word(std::string_view name, std::span<const std::string_view> words);
  // Several words separated by commas; duplicates are dropped.
  std::vector<std::size_t> Words(std::string_view name, std::span<const std::string_view> words);

  void Refuse(std::string_view name, std::string message);

  // Returns kInvalidArgument if there were faults; their pointers are "?name".
  Status Finish();

 private:
  struct Parameter {
    std::string name;
    std::string value;
    bool asked = false;
  };
  // The number of parameters that one operation can ask for.
  static constexpr std::size_t kKnownMax = 32;

  const std::string* Find(std::string_view name);

  std::vector<Parameter> parameters_;
  std::array<std::string_view, kKnownMax> known_;
  std::size_t known_count_ = 0;
  std::vector<Fault> faults_;
};

}  // namespace everstep
