#include "flow/pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace everstep {
namespace {

constexpr std::int64_t kBytesMax = 256 * 1024;  // of a compiled pattern and what matching it caches
constexpr std::size_t kInstructionsMax = 5'000;       // of a compiled pattern, such as ^.{1,500}$
constexpr std::size_t kOperationsPerInstruction = 8;  // to compile
constexpr std::size_t kStepsPerOperation = 8;         // an instruction that looks at a byte

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Whether `rest` begins with {n}, {n,} or {n,m}. RE2 takes anything else for text.
bool IsRepetition(std::string_view rest) {
  const std::size_t end = rest.find_first_not_of("0123456789,", 1);
  return rest.size() > 1 && IsDigit(rest[1]) && end != rest.npos && rest[end] == '}';
}

// RE2 accepts more than JSON Schema recommends, with other meanings than elsewhere, and some of it
// takes long to compile, such as \pL. Returns a description of the first such part.
std::optional<std::string> FindUnsupported(std::string_view text) {
  bool in_class = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (rest[0] == '\\') {
      ++i;
      if (rest.size() == 1) return "'\\' at the end";
      const char escaped = rest[1];
      const bool known = std::string_view("dDwWsSnrt").find(escaped) != std::string_view::npos;
      if ((IsDigit(escaped) || IsLetter(escaped)) && !known) {
        return std::string("unknown escape \\") + escaped;
      }
    } else if (in_class) {
      if (rest.starts_with("[:")) return "write \\[ for the character '[' in a class";
      in_class = rest[0] != ']';
    } else if (rest[0] == '[') {
      if (rest.starts_with("[^")) ++i;
      if (text.substr(i + 1).starts_with("]")) return "the class [] is empty; write \\] for ']'";
      in_class = true;
    } else if (rest.starts_with("(?") && !rest.starts_with("(?:")) {
      return "look-around, flags and named groups are not supported";
    } else if (rest[0] == '{' && !IsRepetition(rest)) {
      return "'{' takes a number, as in {2} or {2,5}; write \\{ for the character";
    }
  }
  return std::nullopt;
}

// The number of instructions; zero if it was not compiled.
std::size_t SizeOf(const re2::RE2& compiled) {
  return static_cast<std::size_t>(std::max(0, compiled.ProgramSize()));
}

Error Invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), {}};
}

}  // namespace

Result<Pattern> Pattern::Parse(std::string_view text, ExpressionMeter& meter) {
  if (text.size() > kPatternBytesMax) {
    return Invalid("it is longer than " + std::to_string(kPatternBytesMax) + " bytes");
  }
  if (auto fault = FindUnsupported(text)) return Invalid(*std::move(fault));
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(kBytesMax);
  auto compiled = std::make_shared<const re2::RE2>(text, options);
  const bool too_large = compiled->error_code() == re2::RE2::ErrorPatternTooLarge ||
                         SizeOf(*compiled) > kInstructionsMax;
  const std::size_t size = too_large ? kInstructionsMax : SizeOf(*compiled);
  if (!meter.Operations(1 + kOperationsPerInstruction * size)) return OverLimit();
  if (too_large) {
    return Invalid("its repetitions make it too large; limit lengths with maxLength instead");
  }
  if (!compiled->ok()) return Invalid(compiled->error());
  return Pattern(std::move(compiled));
}

Result<bool> Pattern::Matches(std::string_view text, ExpressionMeter& meter) const {
  const std::size_t steps = SizeOf(*compiled_) * (text.size() + 1);
  if (!meter.Operations(1 + steps / kStepsPerOperation)) return OverLimit();
  return re2::RE2::PartialMatch(text, *compiled_);
}

}  // namespace everstep
