#include "serve/reading.h"

#include "flow/nearest.h"

namespace everstep {

std::string FaultOfText(std::string_view text, const TextRule& rule) {
  if (text.size() > rule.bytes_max) {
    return "has " + std::to_string(text.size()) + " bytes; the maximum is " +
           std::to_string(rule.bytes_max);
  }
  if (rule.accepts != nullptr && !rule.accepts(text)) {
    return "must be " + std::string(rule.expected);
  }
  return {};
}

std::string FaultOfWord(std::string_view word, std::span<const std::string_view> words) {
  std::string fault = "must be one of ";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) fault += ", ";
    fault.append(words[i]);
  }
  return fault + DidYouMean(word, words);
}

std::string RangeText(std::int64_t min, std::int64_t max) {
  return "a whole number from " + std::to_string(min) + " to " + std::to_string(max);
}

}  // namespace everstep
