#include "flow/expression_lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "base/utf8.h"
#include "flow/quoted.h"

namespace everstep {
namespace {

using Kind = ExpressionToken::Kind;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool BeginsName(char c) {
  const char lower = AsciiLower(c);
  return (lower >= 'a' && lower <= 'z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

bool ContinuesName(char c) { return BeginsName(c) || IsDigit(c); }

std::size_t CountWhile(std::string_view text, bool (*accepts)(char)) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, accepts) - text.begin());
}

// The longest first, so that "==" is not read as "=".
constexpr std::array<std::string_view, 25> kSymbols = {
    "==", "!=", "<=", ">=", "//", "**", "+", "-", "*", "/", "%", "~", "|",
    "<",  ">",  "(",  ")",  "[",  "]",  "{", "}", ",", ":", ".", "="};

std::string UnknownCharacter(std::string_view text) {
  switch (text[0]) {
    case '&':
      return "'&' has no meaning here; write 'and'";
    case '!':
      return "'!' has no meaning here; write 'not'";
    case '?':
      return "'?' has no meaning here; write 'a if condition else b'";
    case '$':
      return "'$' has no meaning here; paths begin with a name: inputs.x, steps.y.result";
    default:
      return Quoted(text.substr(0, CharacterSize(text, 0))) + " has no meaning here";
  }
}

}  // namespace

void ExpressionLexer::SkipSpace() {
  at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
}

ExpressionToken ExpressionLexer::Take(Kind kind, std::size_t size) {
  ExpressionToken token{kind, at_, at_ + size, text_.substr(at_, size), {}, {}};
  at_ += size;
  return token;
}

ExpressionToken ExpressionLexer::Next() {
  SkipSpace();
  const std::string_view rest = text_.substr(at_);
  if (rest.empty()) return Take(Kind::kEnd, 0);
  if (BeginsName(rest[0])) return Take(Kind::kName, CountWhile(rest, ContinuesName));
  if (IsDigit(rest[0])) return Number();
  if (rest[0] == '"' || rest[0] == '\'') return Text();
  for (const std::string_view symbol : kSymbols) {
    if (rest.starts_with(symbol)) return Take(Kind::kSymbol, symbol.size());
  }
  ExpressionToken token = Take(Kind::kFault, 1);
  token.fault = UnknownCharacter(rest);
  return token;
}

ExpressionToken ExpressionLexer::NextMember() {
  SkipSpace();
  const std::string_view rest = text_.substr(at_);
  const std::size_t digits = CountWhile(rest, IsDigit);
  if (digits == 0) return Next();
  ExpressionToken token = Take(Kind::kNumber, digits);
  std::int64_t index = 0;
  if (std::from_chars(rest.data(), rest.data() + digits, index).ec != std::errc()) {
    token.kind = Kind::kFault;
    token.fault = "the index is too large";
  }
  token.value = Value::Int(index);
  return token;
}

ExpressionToken ExpressionLexer::Number() {
  const std::string_view rest = text_.substr(at_);
  std::size_t size = CountWhile(rest, IsDigit);
  bool whole = true;
  const auto take_digits_from = [&](std::size_t first) {
    const std::size_t digits = CountWhile(rest.substr(std::min(first, rest.size())), IsDigit);
    if (digits == 0) return;
    size = first + digits;
    whole = false;
  };
  if (rest.substr(size).starts_with('.')) take_digits_from(size + 1);
  if (size < rest.size() && AsciiLower(rest[size]) == 'e') {
    const bool has_sign =
        size + 1 < rest.size() && (rest[size + 1] == '-' || rest[size + 1] == '+');
    take_digits_from(size + (has_sign ? 2 : 1));
  }
  ExpressionToken token = Take(Kind::kNumber, size);
  if (size < rest.size() && ContinuesName(rest[size])) {
    token.kind = Kind::kFault;
    token.fault = "a name cannot begin with a digit; write a['" +
                  std::string(rest.substr(0, size + CountWhile(rest.substr(size), ContinuesName))) +
                  "'] for a member";
    return token;
  }
  std::int64_t integer = 0;
  double number = 0;
  if (whole && std::from_chars(rest.data(), rest.data() + size, integer).ec == std::errc()) {
    token.value = Value::Int(integer);
  } else if (std::from_chars(rest.data(), rest.data() + size, number).ec == std::errc()) {
    token.value = Value::Double(number);
  } else {
    token.kind = Kind::kFault;
    token.fault = "the number is too large or too small";
  }
  return token;
}

ExpressionToken ExpressionLexer::Text() {
  ExpressionToken token;
  token.kind = Kind::kFault;
  token.begin = at_;
  const char quote = text_[at_++];
  std::string out;
  while (at_ < text_.size() && text_[at_] != quote) {
    if (text_[at_] != '\\') {
      out.push_back(text_[at_++]);
      continue;
    }
    const std::size_t escape = at_;
    if (const char* fault = Escape(out)) {
      token.begin = escape;
      token.end = at_ = std::min(escape + 1, text_.size());
      token.fault = fault;
      return token;
    }
  }
  token.end = at_ = std::min(at_ + 1, text_.size());
  if (token.end - token.begin < 2 || text_[token.end - 1] != quote) {
    token.fault = std::string("the text is not closed by ") + quote;
    return token;
  }
  token.kind = Kind::kText;
  token.value = Value::Text(std::move(out));
  return token;
}

const char* ExpressionLexer::Escape(std::string& out) {
  constexpr std::string_view kLetters = "nrtbf\\'\"/";
  constexpr std::string_view kMeanings = "\n\r\t\b\f\\'\"/";
  constexpr const char* kUnknown =
      "an escape is one of \\n \\r \\t \\b \\f \\\\ \\' \\\" \\/ \\uXXXX";
  if (at_ + 1 >= text_.size()) return kUnknown;
  const char letter = text_[at_ + 1];
  if (letter == 'u') return UnicodeEscape(out);
  const std::size_t place = kLetters.find(letter);
  if (place == std::string_view::npos) return kUnknown;
  out.push_back(kMeanings[place]);
  at_ += 2;
  return nullptr;
}

const char* ExpressionLexer::UnicodeEscape(std::string& out) {
  constexpr std::uint32_t kHigh = 0xd800;
  constexpr std::uint32_t kLow = 0xdc00;
  constexpr std::uint32_t kAfter = 0xe000;
  const std::uint32_t code = FourDigits(at_ + 2);
  if (code > 0xffff) return "\\u needs four hexadecimal digits";
  if (code < kHigh || code >= kAfter) {
    AppendCharacter(code, out);
    at_ += 6;
    return nullptr;
  }
  const bool has_pair = text_.substr(std::min(at_ + 6, text_.size())).starts_with("\\u");
  const std::uint32_t low = has_pair ? FourDigits(at_ + 8) : 0;
  if (code >= kLow || low < kLow || low >= kAfter)
    return "half of a surrogate pair of \\u escapes; write both halves";
  AppendCharacter(0x10000 + ((code - kHigh) << 10) + (low - kLow), out);
  at_ += 12;
  return nullptr;
}

std::uint32_t ExpressionLexer::FourDigits(std::size_t at) const {
  constexpr std::uint32_t kNone = UINT32_MAX;
  if (at + 4 > text_.size()) return kNone;
  std::uint32_t code = 0;
  const char* begin = text_.data() + at;
  const auto result = std::from_chars(begin, begin + 4, code, 16);
  return result.ptr == begin + 4 ? code : kNone;
}

}  // namespace everstep
