#include "event/identifier.h"

#include <gtest/gtest.h>

#include <string>

namespace everstep {
namespace {

std::string Repeat(std::string_view piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text.append(piece);
  return text;
}

TEST(IdentifierTest, AcceptsTheRunIdsOfOtherSystems) {
  EXPECT_TRUE(IsIdentifier("run_2026-02-11_abc123"));
  EXPECT_TRUE(IsIdentifier("0d3c6a9e-4f0c-4a8e-9d5d-3d4c0f7dbb8a"));
  EXPECT_TRUE(IsIdentifier("wrun_01HXYZ123ABC456DEF789GHJ"));
  EXPECT_TRUE(IsIdentifier("arn:aws:states:us-east-1:123456789012:execution:m:e.1"));
  EXPECT_TRUE(IsIdentifier("7"));
}

TEST(IdentifierTest, MustBeginWithALetterOrDigit) {
  for (const std::string_view text : {"-a", "_a", ".a", ":a", " a", ""}) {
    EXPECT_FALSE(IsIdentifier(text)) << text;
  }
}

TEST(IdentifierTest, RefusesEveryOtherCharacter) {
  for (int c = 0; c < 256; ++c) {
    const std::string text = {'a', static_cast<char>(c)};
    const bool allowed =
        c < 128 && (std::isalnum(c) != 0 || c == '.' || c == '_' || c == ':' || c == '-');
    EXPECT_EQ(IsIdentifier(text), allowed) << c;
  }
}

TEST(IdentifierTest, IsAtMost128CharactersLong) {
  EXPECT_TRUE(IsIdentifier(Repeat("a", 128)));
  EXPECT_FALSE(IsIdentifier(Repeat("a", 129)));
}

TEST(NameTest, AcceptsAnyPrintableText) {
  EXPECT_TRUE(IsName("model.orders"));
  EXPECT_TRUE(IsName("step:fetch_and_evaluate:run:7"));
  EXPECT_TRUE(IsName("Prüfung der Eingänge"));
  EXPECT_TRUE(IsName("準備 🚀"));
  EXPECT_TRUE(IsName("\u00a0"));
}

TEST(IdentifierTest, RecognizesDerivedRunIds) {
  EXPECT_TRUE(IsDerivedRunId("in-0123456789abcdef0123456789abcdef"));
  EXPECT_TRUE(IsDerivedRunId("01234567-89ab-8def-a123-456789abcdef"));
  EXPECT_FALSE(IsDerivedRunId("01234567-89ab-4def-a123-456789abcdef"));
  EXPECT_FALSE(IsDerivedRunId("01234567-89AB-8def-a123-456789abcdef"));
  EXPECT_FALSE(IsDerivedRunId("in-0123456789abcdef0123456789abcde"));
  EXPECT_FALSE(IsDerivedRunId("in-order-7"));
  EXPECT_FALSE(IsDerivedRunId(""));
}

TEST(NameTest, RefusesTheKeySeparatorAndControlCharacters) {
  EXPECT_FALSE(IsName(""));
  EXPECT_FALSE(IsName("a|b"));
  EXPECT_FALSE(IsName("a\nb"));
  EXPECT_FALSE(IsName("a\n"));
  EXPECT_FALSE(IsName(std::string_view("a\0b", 3)));
  EXPECT_FALSE(IsName("\x7f"));
  EXPECT_FALSE(IsName("\u0080"));
  EXPECT_FALSE(IsName("a\u009f"));
}

TEST(NameTest, CountsCharactersAndNotBytes) {
  for (const std::string_view character : {"a", "ü", "準", "🚀"}) {
    EXPECT_TRUE(IsName(Repeat(character, 256))) << character;
    EXPECT_FALSE(IsName(Repeat(character, 257))) << character;
  }
}

TEST(NameTest, RefusesBrokenUtf8) {
  EXPECT_FALSE(IsName("\xff"));
  EXPECT_FALSE(IsName("a\xc3"));
  EXPECT_FALSE(IsName("\xe2\x82"));
  EXPECT_FALSE(IsName("\xed\xa0\x80"));      // a surrogate
  EXPECT_FALSE(IsName("\xc0\xaf"));          // overlong
  EXPECT_FALSE(IsName("\xf4\x90\x80\x80"));  // beyond U+10FFFF
}

}  // namespace
}  // namespace everstep
