#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

namespace everstep {

// Removes secret values from data before it is recorded. Finds each value in plain form,
// percent-encoded, and in base64 (both alphabets, also inside a longer encoded text, as in a Basic
// authorization header), each of them also with any characters escaped as in JSON, or in JSON in
// JSON. Values shorter than kSecretBytesMin are not masked, since that would mask ordinary text.
// Immutable.
class SecretMask {
 public:
  static constexpr std::string_view kShown = "***";
  static constexpr std::size_t kSecretBytesMin = 4;

  SecretMask() = default;
  explicit SecretMask(const std::vector<std::string>& values);

  bool empty() const { return forms_.empty(); }
  std::string Mask(std::string_view text) const;
  // For text that was truncated: also masks the beginning of a value at the end of the text.
  std::string MaskCut(std::string_view text) const;
  // Masks every text, number and key in the value.
  Value Mask(const Value& value) const;

 private:
  std::string MaskPlain(std::string_view text) const;

  std::vector<std::string> forms_;  // longest first
};

}  // namespace everstep
