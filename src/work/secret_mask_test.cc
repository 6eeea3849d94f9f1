#include "work/secret_mask.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/encoding.h"
#include "base/json.h"

namespace everstep {
namespace {

TEST(SecretMask, MasksAValueInEveryEncoding) {
  const std::string secret = "p4ss word\n\"+/";
  const SecretMask mask({secret});
  EXPECT_EQ(mask.Mask("a " + secret + " b"), "a *** b");
  EXPECT_EQ(mask.Mask("q=" + PercentEncode(secret)), "q=***");
  EXPECT_EQ(mask.Mask("q=p4ss+word%0a%22%2b%2f"), "q=***");
  EXPECT_EQ(mask.Mask(JsonQuote(secret)), "\"***\"");
  EXPECT_EQ(mask.Mask(Base64(secret)), "***");
}

TEST(SecretMask, MasksAValueInJsonInJson) {
  const std::string secret = R"(pa"ss\wo/rd)";
  const SecretMask mask({secret});
  std::string text = secret;
  for (int depth = 1; depth <= 4; ++depth) {
    text = JsonQuote(text);
    const std::string masked = mask.Mask(text);
    EXPECT_EQ(masked.find("pa"), std::string::npos) << depth << ": " << masked;
    EXPECT_EQ(masked.find("rd"), std::string::npos) << depth << ": " << masked;
  }
  EXPECT_EQ(mask.Mask(R"("pa\"ss\\wo\/rd")"), R"("***")") << "a writer that escapes slashes";
}

TEST(SecretMask, MasksAValueAsAnyWriterOfJsonEscapesIt) {
  const std::string secret = "p\u00e9 <a>&/\U0001F600\"x";
  const SecretMask mask({secret});
  const std::string python = R"(p\u00e9 <a>&/\ud83d\ude00\"x)";
  const std::string go = "p\u00e9 \\u003ca\\u003e\\u0026/\U0001F600\\\"x";
  const std::string dotnet = R"(p\u00E9 \u003Ca\u003E\u0026/\uD83D\uDE00\u0022x)";
  for (const std::string& escaped : {python, go, dotnet}) {
    std::string text = "\"" + escaped + "\"";
    EXPECT_EQ(mask.Mask(text), "\"***\"");
    for (int depth = 2; depth <= 5; ++depth) {
      text = JsonQuote(text);
      const std::string masked = mask.Mask(text);
      EXPECT_EQ(masked.find_first_of("pax<"), std::string::npos) << depth << ": " << masked;
    }
  }
  // Python in Python escapes the backslashes of the inner escapes.
  EXPECT_EQ(mask.Mask(R"("{\"k\": \"p\\u00e9 <a>&/\\ud83d\\ude00\\\"x\"}")"),
            R"("{\"k\": \"***\"}")");
}

TEST(SecretMask, LeavesTextWithBackslashesAlone) {
  const SecretMask mask({"secret"});
  for (const char* text :
       {R"(C:\new\up)", R"(\)", R"(\u12)", R"(\ud83d)", R"(\ud83d\u0041 \uzzzz)"}) {
    EXPECT_EQ(mask.Mask(text), text);
  }
  EXPECT_EQ(mask.Mask(R"(\\secret \x)"), R"(\\*** \x)");
}

TEST(SecretMask, ATruncatedEscapeAtTheEndIsMasked) {
  const SecretMask mask({"hid\u00e9 value"});
  for (const char* text : {R"(it is hid\u00e9 va)", R"(it is hid\u00e9)", R"(it is hid\u00e)",
                           R"(it is hid\)", R"(it is hid\\u00)"}) {
    EXPECT_EQ(mask.MaskCut(text), "it is ***") << text;
  }
}

TEST(SecretMask, MasksKeysTextsAndNumbersOfAValue) {
  const SecretMask mask({"123456", "hidden"});
  const auto value = *ValueFromJson(R"({"hidden":1,"a":["x hidden y",123456,12,true,null]})");
  EXPECT_EQ(ToJson(mask.Mask(value)), R"({"***":1,"a":["x *** y","***",12,true,null]})");
  const auto twice = *ValueFromJson(R"({"hidden":1,"123456":2})");
  EXPECT_EQ(mask.Mask(twice).members().size(), 2U);
}

TEST(SecretMask, LeavesShortValuesAndOtherTextAlone) {
  EXPECT_TRUE(SecretMask({"", "abc"}).empty());
  EXPECT_EQ(SecretMask({"abc"}).Mask("abcabc"), "abcabc");
  EXPECT_EQ(SecretMask({"secret"}).Mask("nothing here"), "nothing here");
}

TEST(SecretMask, ATruncatedValueAtTheEndIsMasked) {
  const SecretMask mask({"hidden value"});
  EXPECT_EQ(mask.MaskCut("it is hidden va"), "it is ***");
  EXPECT_EQ(mask.MaskCut("it is h"), "it is ***");
  EXPECT_EQ(mask.MaskCut("it is hidden value"), "it is ***");
  EXPECT_EQ(mask.MaskCut("it is open"), "it is open");
}

TEST(SecretMask, ASecretThatContainsAnotherIsMaskedWhole) {
  const SecretMask mask({"abcd", "abcdefgh"});
  EXPECT_EQ(mask.Mask("abcdefgh abcd"), "*** ***");
}

RC_GTEST_PROP(SecretMask, FindsAValueInsideLongerBase64, ()) {
  const auto before = *rc::gen::container<std::string>(rc::gen::inRange('a', 'z'));
  const auto after = *rc::gen::container<std::string>(rc::gen::inRange('a', 'z'));
  const auto secret = *rc::gen::container<std::string>(12, rc::gen::arbitrary<char>());
  const std::string whole = Base64(before + secret + after);
  const std::string masked = SecretMask({secret}).Mask(whole);
  RC_ASSERT(masked != whole);
  RC_ASSERT(masked.find("***") != std::string::npos);
}

RC_GTEST_PROP(Encoding, Base64RoundTrips, (const std::string& bytes)) {
  RC_ASSERT(FromBase64(Base64(bytes)) == bytes);
}

RC_GTEST_PROP(Encoding, ValidUtf8ReturnsUtf8, (const std::string& bytes)) {
  RC_ASSERT(IsUtf8(ValidUtf8(bytes)));
  if (IsUtf8(bytes)) RC_ASSERT(ValidUtf8(bytes) == bytes);
}

TEST(Encoding, Base64AgreesWithRfc4648) {
  const std::pair<std::string, std::string> examples[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="},
                                                          {"foobar", "Zm9vYmFy"},
                                                          {"\xff\xfe", "//4="}};
  for (const auto& [bytes, text] : examples) {
    EXPECT_EQ(Base64(bytes), text);
    EXPECT_EQ(FromBase64(text), bytes);
  }
}

TEST(Encoding, RejectsInvalidBase64AndUtf8) {
  EXPECT_EQ(FromBase64("a"), std::nullopt);
  EXPECT_EQ(FromBase64("ab!d"), std::nullopt);
  EXPECT_EQ(FromBase64("YQ"), "a");
  EXPECT_EQ(FromBase64("-_-_"), FromBase64("+/+/"));
  EXPECT_FALSE(IsUtf8("\xc0\x80"));
  EXPECT_FALSE(IsUtf8("\xed\xa0\x80"));
  EXPECT_FALSE(IsUtf8("\xf4\x90\x80\x80"));
  EXPECT_EQ(ValidUtf8("a\xff z"), "a\xef\xbf\xbd z");
  EXPECT_EQ(PercentEncode("a b~/ñ"), "a%20b~%2F%C3%B1");
}

}  // namespace
}  // namespace everstep
