#include "flow/pattern.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <regex.h>

namespace everstep {
namespace {

bool Matches(std::string_view pattern, std::string_view text) {
  const auto parsed = Pattern::Parse(pattern);
  EXPECT_TRUE(parsed) << pattern;
  return parsed && parsed->Matches(text);
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
       {"(", ")", "[a", "*a", "a**", "a{2,1}", "a{", "\\", "(?=a)", "\\1", "[z-a]", "a{5000}"}) {
    EXPECT_FALSE(Pattern::Parse(text)) << text;
  }
  EXPECT_FALSE(Pattern::Parse("((((a{1000}){1000}){1000}){1000})"));
  EXPECT_FALSE(Pattern::Parse(std::string(80, '(') + std::string(80, ')')));
}

TEST(PatternTest, TimeDoesNotExplode) {
  EXPECT_FALSE(Matches("^(a+)+$", std::string(5'000, 'a') + "b"));
  EXPECT_FALSE(Matches("^(a|a)*(a|a)*(a|a)*$", std::string(5'000, 'a') + "b"));
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
  const auto parsed = Pattern::Parse(pattern);
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(parsed->Matches(text) == PosixMatches(pattern, text));
}

}  // namespace
}  // namespace everstep
