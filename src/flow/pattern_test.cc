#include "flow/pattern.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <regex.h>

namespace everstep {
namespace {

ExpressionMeter Budget() { return ExpressionMeter({.operations_max = 1'000'000}); }

bool Matches(std::string_view pattern, std::string_view text) {
  ExpressionMeter meter = Budget();
  const auto parsed = Pattern::Parse(pattern, meter);
  EXPECT_TRUE(parsed) << pattern;
  if (!parsed) return false;
  const auto matches = parsed->Matches(text, meter);
  EXPECT_TRUE(matches) << pattern;
  return matches && *matches;
}

// "" for a valid pattern.
std::string FaultOf(std::string_view pattern) {
  ExpressionMeter meter = Budget();
  const auto parsed = Pattern::Parse(pattern, meter);
  return parsed ? "" : parsed.error().message;
}

std::string Repeated(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

TEST(PatternTest, MatchesAnywhereUnlessAnchored) {
  EXPECT_TRUE(Matches("b", "abc"));
  EXPECT_FALSE(Matches("^b", "abc"));
  EXPECT_FALSE(Matches("b$", "abc"));
  EXPECT_TRUE(Matches("^abc$", "abc"));
  EXPECT_TRUE(Matches("", "abc"));
  EXPECT_TRUE(Matches("^$", ""));
  EXPECT_FALSE(Matches("^$", "a"));
}

TEST(PatternTest, RepetitionsAreCounted) {
  EXPECT_TRUE(Matches("^a{2,3}$", "aa"));
  EXPECT_TRUE(Matches("^a{2,3}$", "aaa"));
  EXPECT_FALSE(Matches("^a{2,3}$", "a"));
  EXPECT_FALSE(Matches("^a{2,3}$", "aaaa"));
  EXPECT_TRUE(Matches("^a{2,}b?$", "aaaaab"));
  EXPECT_TRUE(Matches("^(ab){2}$", "abab"));
  EXPECT_FALSE(Matches("^(ab){2}$", "ab"));
}

TEST(PatternTest, ClassesAndEscapes) {
  EXPECT_TRUE(Matches("^[A-Z]{3}-\\d+$", "ABC-042"));
  EXPECT_FALSE(Matches("^[A-Z]{3}-\\d+$", "AbC-042"));
  EXPECT_TRUE(Matches("^[^,]+,[\\w.-]+$", "a b,c.d-e"));
  EXPECT_TRUE(Matches("^\\S+\\s\\S+$", "a b"));
}

TEST(PatternTest, AlternativesNest) {
  EXPECT_TRUE(Matches("^(dev|stage|prod(-(eu|us))?)$", "prod-eu"));
  EXPECT_FALSE(Matches("^(dev|stage|prod(-(eu|us))?)$", "prod-"));
  EXPECT_TRUE(Matches("a|b|c", "xc"));
}

TEST(PatternTest, CharactersOutsideAsciiAreWhole) {
  EXPECT_TRUE(Matches("^.$", "é"));
  EXPECT_TRUE(Matches("^[à-ü]+$", "éè"));
  EXPECT_FALSE(Matches("^.$", "éé"));
}

TEST(PatternTest, InvalidPatternsAreRejected) {
  for (const std::string_view text :
       {"(", ")", "[a", "*a", "a**", "a{2,1}", "\\", "[z-a]", "a{5000}", "a{2}{3}", "\xff"}) {
    EXPECT_NE(FaultOf(text), "") << text;
  }
}

TEST(PatternTest, WhatMeansSomethingElseElsewhereIsRejected) {
  const std::pair<const char*, const char*> cases[] = {
      {"(?=a)", "look-around"},       {"(?i)a", "flags"},
      {"(?P<n>a)", "named groups"},   {"\\1", "unknown escape \\1"},
      {"\\pL", "unknown escape \\p"}, {"[\\b]", "unknown escape \\b"},
      {"[]a]", "write \\]"},          {"[^]", "write \\]"},
      {"[[:alpha:]]", "write \\["},   {"a{", "write \\{"},
      {"a{,2}", "write \\{"},         {"a{2;3}", "write \\{"},
  };
  for (const auto& [pattern, expected] : cases) {
    EXPECT_NE(FaultOf(pattern).find(expected), std::string::npos) << pattern << FaultOf(pattern);
  }
  EXPECT_EQ(FaultOf("(?:a|\\(\\?)[{(?^\\]-]{2,}\\{"), "");
}

TEST(PatternTest, LargePatternsAreRejected) {
  for (const std::string_view text :
       {"((((a{1000}){1000}){1000}){1000})", "^.{1,1000}$", "(.{1,300}){3}", "([ab]?){3000}"}) {
    EXPECT_NE(FaultOf(text), "") << text;
  }
  EXPECT_NE(FaultOf(std::string(kPatternBytesMax + 1, 'a')), "");
  EXPECT_EQ(FaultOf("^.{1,500}$"), "");
  EXPECT_EQ(FaultOf(std::string(80, '(') + std::string(80, ')')), "");
}

TEST(PatternTest, TimeDoesNotExplode) {
  EXPECT_FALSE(Matches("^(a+)+$", std::string(5'000, 'a') + "b"));
  EXPECT_FALSE(Matches("^(a|a)*(a|a)*(a|a)*$", std::string(5'000, 'a') + "b"));
}

TEST(PatternTest, MatchingIsChargedByTheSizeOfThePatternAndOfTheText) {
  ExpressionMeter meter = Budget();
  const auto pattern = Pattern::Parse("(" + Repeated("[a-a]?", 15) + "){150}b", meter);
  ASSERT_TRUE(pattern);
  EXPECT_TRUE(pattern->Matches(std::string(500, 'a'), meter));
  EXPECT_LT(meter.operations_left(), 900'000u);
  const auto too_long = pattern->Matches(std::string(30'000, 'a'), meter);
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code, ErrorCode::kExpressionFailed);
  EXPECT_EQ(meter.operations_left(), 0u);
}

TEST(PatternTest, CompilingIsCharged) {
  ExpressionMeter meter = Budget();
  int compiled = 0;
  while (compiled < 1'000 && Pattern::Parse("^.{1,500}$", meter)) ++compiled;
  EXPECT_GT(compiled, 10);
  EXPECT_LT(compiled, 100);
}

bool PosixMatches(const std::string& pattern, const std::string& text) {
  regex_t compiled;
  RC_ASSERT(regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB) == 0);
  const bool matches = regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  regfree(&compiled);
  return matches;
}

RC_GTEST_PROP(PatternTest, AgreesWithPosix, ()) {
  const auto atom = rc::gen::elementOf(
      std::vector<std::string>{"a", "b", ".", "[ab]", "[^a]", "(a|b)", "(ab)", "(a|bc|)", "\\w"});
  const auto repeat =
      rc::gen::elementOf(std::vector<std::string>{"", "", "?", "*", "+", "{2}", "{1,2}", "{2,}"});
  std::string pattern = *rc::gen::elementOf(std::vector<std::string>{"", "^"});
  const int parts = *rc::gen::inRange(1, 4);
  for (int i = 0; i < parts; ++i) pattern += *atom + *repeat;
  pattern += *rc::gen::elementOf(std::vector<std::string>{"", "$"});
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("abc")));
  RC_ASSERT(Matches(pattern, text) == PosixMatches(pattern, text));
}

}  // namespace
}  // namespace everstep
