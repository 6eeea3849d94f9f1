#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flow/value.h"

namespace everstep {

// Takes secret values out of what is about to be recorded. Finds each value as it is, as JSON
// escapes it, percent-encoded, and in base64 (both alphabets, also inside a longer encoded text, as
// in a Basic authorization header). Values shorter than kSecretBytesMin are not masked: they would
// blot out ordinary text. Immutable.
class SecretMask {
 public:
  static constexpr std::string_view kShown = "***";
  static constexpr std::size_t kSecretBytesMin = 4;

  SecretMask() = default;
  explicit SecretMask(const std::vector<std::string>& values);

  bool empty() const { return forms_.empty(); }
  std::string Mask(std::string_view text) const;
  // Of text whose end was cut off: the start of a value at its end is masked as well.
  std::string MaskCut(std::string_view text) const;
  // Every text in it, and every key.
  Value Mask(const Value& value) const;

 private:
  std::vector<std::string> forms_;  // longest first
};

}  // namespace everstep
