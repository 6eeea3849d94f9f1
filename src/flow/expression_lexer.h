#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/value.h"

namespace everstep {

struct ExpressionToken {
  enum class Kind : std::uint8_t { kEnd, kName, kNumber, kText, kSymbol, kFault };
  Kind kind = Kind::kEnd;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string_view text;  // kName and kSymbol: as written
  Value value;            // kNumber, kText
  std::string fault;      // kFault: the syntax error at `begin`

  bool IsSymbol(std::string_view symbol) const { return kind == Kind::kSymbol && text == symbol; }
  bool IsName(std::string_view name) const { return kind == Kind::kName && text == name; }
};

// Splits an expression into tokens. The text must be UTF-8 and outlive the tokens.
class ExpressionLexer {
 public:
  explicit ExpressionLexer(std::string_view text) : text_(text) {}

  ExpressionToken Next();
  // The token after a dot: a name, including reserved words (`a.in`), or an index (`a.0.b`, where
  // Next would read `0.` as the start of a number).
  ExpressionToken NextMember();

 private:
  void SkipSpace();
  ExpressionToken Take(ExpressionToken::Kind kind, std::size_t size);
  ExpressionToken Number();
  ExpressionToken Text();
  // Appends the character that the escape at `at_` stands for and moves past it. Returns null on
  // success, otherwise an error message.
  const char* Escape(std::string& out);
  const char* UnicodeEscape(std::string& out);
  // The value of the four hexadecimal digits at `at`, or a value above 0xffff if there are none.
  std::uint32_t FourDigits(std::size_t at) const;

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace everstep
