#include "tests/tidy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "everstep/error.h"
#include "net/problem.h"
#include "serve/problem.h"

namespace everstep {
namespace {

using Rule = std::vector<Finding> (*)(const SourceFile&);

constexpr int kDesignRules = 18;  // rows of the table in docs/decisions.md

const std::vector<SourceFile>& Sources() {
  static const std::vector<SourceFile> files =
      ReadSources({"include", "src", "apps", "tests", "bench", "fuzz", "examples", "tools", "cmake",
                   "docs", "schemas", "sdk"});
  return files;
}

void ExpectNoneBreaks(Rule rule) {
  std::vector<Finding> findings;
  for (const SourceFile& file : Sources()) {
    for (Finding& finding : rule(file)) findings.push_back(std::move(finding));
  }
  EXPECT_TRUE(findings.empty()) << ToString(findings);
}

std::string Planted(Rule rule, std::string path, std::string text) {
  return ToString(rule({std::move(path), std::move(text)}));
}

TEST(TidyTest, TheWorldIsBehindPorts) { ExpectNoneBreaks(FindBannedCalls); }
TEST(TidyTest, NoLeftoverNotes) { ExpectNoneBreaks(FindLeftovers); }
TEST(TidyTest, TextsAreClear) { ExpectNoneBreaks(FindUnclearWords); }
TEST(TidyTest, TypeNamesSaySomething) { ExpectNoneBreaks(FindEmptyNames); }
TEST(TidyTest, FoldersSayWhatTheyHold) { ExpectNoneBreaks(FindAtticFolders); }
TEST(TidyTest, LinesFitTheScreen) { ExpectNoneBreaks(FindLongLines); }
TEST(TidyTest, FilesAreShort) { ExpectNoneBreaks(FindLongFile); }
TEST(TidyTest, ExceptionsAreCaughtByName) { ExpectNoneBreaks(FindCatchAll); }
TEST(TidyTest, TestsCanFail) { ExpectNoneBreaks(FindTestWithoutAssertion); }
TEST(TidyTest, HeadersAreGuarded) { ExpectNoneBreaks(FindUnguardedHeader); }

TEST(TidyTest, EveryTypeHasAUniqueName) {
  const std::vector<Finding> findings = FindRepeatedTypes(Sources());
  EXPECT_TRUE(findings.empty()) << ToString(findings);
}

TEST(TidyTest, WhatMustNotGoWrongIsAsserted) {
  const std::vector<Finding> findings = FindTooFewAssertions(Sources());
  EXPECT_TRUE(findings.empty()) << ToString(findings);
}

TEST(TidyTest, TypesOfTheSameNameAreFound) {
  EXPECT_EQ(
      FindRepeatedTypes(
          {{"src/a/x.h", "struct Row {\n  struct Cell {};\n};\n"},
           {"src/b/y.h", "class Row;\nstruct Row::Cell {\n};\nclass Cell : public Thing {\n};\n"}})
          .size(),
      0U);
  EXPECT_EQ(ToString(FindRepeatedTypes(
                {{"src/a/x.h", "struct Row {\n};\n"}, {"src/b/y.h", "class Row final {\n};\n"}})),
            ToString({{"src/b/y.h", 0, "a type Row is in src/a/x.h too"}}));
}

TEST(TidyTest, EveryErrorCodeHasAPage) {
  std::set<std::string> codes;
  for (int i = 0; i < kErrorCodeCount; ++i) codes.emplace(Name(static_cast<ErrorCode>(i)));
  for (int i = 0; i < kHttpCodeCount; ++i) codes.emplace(Name(static_cast<HttpCode>(i)));
  std::set<std::string> pages;
  for (const SourceFile& file : ReadSources({"docs/errors"})) {
    pages.insert(file.path.substr(file.path.rfind('/') + 1));
  }
  EXPECT_EQ(codes.size(), static_cast<std::size_t>(kErrorCodeCount + kHttpCodeCount));
  codes.insert(kServerProblems.begin(), kServerProblems.end());
  const std::vector<Finding> findings = CompareErrorPages(codes, pages);
  EXPECT_TRUE(findings.empty()) << ToString(findings);
}

TEST(TidyTest, EveryDecisionHasARowAndATest) {
  std::string decisions;
  for (const SourceFile& file : ReadSources({"docs"})) {
    if (file.path == "docs/decisions.md") decisions = file.text;
  }
  for (int rule = 1; rule <= kDesignRules; ++rule) {
    const std::string row = "\n| " + std::to_string(rule) + " | ";
    EXPECT_NE(decisions.find(row), std::string::npos) << rule;
    const std::string name = (rule < 10 ? "DesignRule0" : "DesignRule") + std::to_string(rule);
    EXPECT_TRUE(std::ranges::any_of(Sources(), [&](const SourceFile& file) {
      return IsTest(file) && CodeOnly(file.text).find(name) != std::string::npos;
    })) << name;
  }
}

TEST(TidyTest, TheSearchFindsTheProject) {
  EXPECT_GT(Sources().size(), 30U);
  EXPECT_TRUE(std::any_of(Sources().begin(), Sources().end(), [](const SourceFile& file) {
    return file.path == "src/base/system_ports.cc";
  }));
}

// Each rule finds what it is meant to find, and nothing else.

TEST(TidyRulesTest, BannedCallsAreFoundOutsideThePorts) {
  const std::string text = "int x;\nauto t = std::chrono::system_clock::now();\n";
  EXPECT_EQ(Planted(FindBannedCalls, "src/engine/a.cc", text),
            "src/engine/a.cc:2: ::now(: time comes from a Clock\n");
  EXPECT_NE(Planted(FindBannedCalls, "src/engine/a_test.cc", text), "");
  EXPECT_EQ(Planted(FindBannedCalls, "src/base/system_ports.cc", text), "");
  EXPECT_EQ(Planted(FindBannedCalls, "apps/everstep/main.cc", text), "");
  EXPECT_EQ(Planted(FindBannedCalls, "bench/a.cc", text), "");
  for (const std::string call :
       {"std::this_thread::sleep_for(1s);", "std::this_thread::sleep_until(t);", "usleep(1);",
        "nanosleep(&a, nullptr);", "std::random_device r;", "int i = rand();", "time(nullptr);",
        "gettimeofday(&t, nullptr);", "clock_gettime(CLOCK_REALTIME, &t);"}) {
    EXPECT_NE(Planted(FindBannedCalls, "src/engine/a.cc", call), "") << call;
    EXPECT_NE(Planted(FindBannedCalls, "tests/a_test.cc", call), "") << call;
  }
}

TEST(TidyRulesTest, OnlyTheCommitterWritesToTheStore) {
  for (const std::string call : {"store_.PutPlan(a, b);", "log.store().MoveSink(move);",
                                 "store.RemoveSink(key);", "store_.PutDocuments(all);"}) {
    EXPECT_NE(Planted(FindBannedCalls, "src/bus/a.cc", call), "") << call;
    EXPECT_EQ(Planted(FindBannedCalls, "src/engine/store_order.cc", call), "") << call;
    EXPECT_EQ(Planted(FindBannedCalls, "src/store/a_test.cc", call), "") << call;
  }
}

TEST(TidyRulesTest, TestsMayReadTheEnvironmentOthersMayNot) {
  const std::string text = "const char* home = std::getenv(\"HOME\");";
  EXPECT_NE(Planted(FindBannedCalls, "src/store/a.cc", text), "");
  EXPECT_EQ(Planted(FindBannedCalls, "src/store/a_test.cc", text), "");
  EXPECT_EQ(Planted(FindBannedCalls, "apps/everstep/main.cc", text), "");
}

TEST(TidyRulesTest, CommentsLiteralsAndLongerWordsAreNotCalls) {
  EXPECT_EQ(
      Planted(FindBannedCalls, "src/engine/a.cc",
              "// never sleep_for\n/* std::x::now() */ auto s = \"usleep\";\n"
              "auto r = R\"x(rand()\" getenv)x\"; int operand(); char c = '\"'; f(strand());\n"),
      "");
}

TEST(TidyRulesTest, LeftoversAreFoundInCodeAndScripts) {
  for (const std::string word : {"TODO", "FIXME", "XXX", "HACK"}) {
    EXPECT_NE(Planted(FindLeftovers, "src/base/a.cc", "// " + word + ": later\n"), "") << word;
    EXPECT_NE(Planted(FindLeftovers, "tools/a", "# " + word + "\n"), "") << word;
    EXPECT_EQ(Planted(FindLeftovers, "src/base/a.cc", "// A" + word + "S\n"), "") << word;
  }
}

TEST(TidyRulesTest, UnclearWordsAreFoundInCommentsLiteralsAndDocuments) {
  const std::string word = "told";
  EXPECT_NE(Planted(FindUnclearWords, "src/a.cc", "// Stops when " + word + "."), "");
  EXPECT_NE(Planted(FindUnclearWords, "src/a.cc", "Fail(\"was " + word + "\");"), "");
  EXPECT_NE(Planted(FindUnclearWords, "docs/a.md", "The server is " + word + " so."), "");
  EXPECT_EQ(Planted(FindUnclearWords, "src/a.cc", "// Sells " + word + "er goods."), "");
}

TEST(TidyRulesTest, EmptyTypeNamesAreFound) {
  for (const std::string text :
       {"class RunManager {};", "struct InfoPage;", "enum class StepV2 { kA };",
        "using EventData = int;", "class  StringUtils;", "class ParseHelper final {};"}) {
    EXPECT_NE(Planted(FindEmptyNames, "src/base/a.h", text), "") << text;
  }
  EXPECT_EQ(Planted(FindEmptyNames, "src/base/a.h",
                    "class Database; struct Informed; enum class KeyVersion { kV2 };\n"
                    "// class RunManager\nauto d = row.Data();\n"),
            "");
}

TEST(TidyRulesTest, AtticFoldersAreFound) {
  EXPECT_NE(Planted(FindAtticFolders, "src/utils/a.h", ""), "");
  EXPECT_NE(Planted(FindAtticFolders, "src/base/common/a.h", ""), "");
  EXPECT_NE(Planted(FindAtticFolders, "helpers/a.h", ""), "");
  EXPECT_EQ(Planted(FindAtticFolders, "src/uncommon/a.h", ""), "");
}

TEST(TidyRulesTest, LongLinesAreFoundByCharactersNotBytes) {
  EXPECT_EQ(Planted(FindLongLines, "src/base/a.h", "\n" + std::string(101, 'x') + "\n"),
            "src/base/a.h:2: 101 columns\n");
  std::string arrows;
  for (int i = 0; i < 100; ++i) arrows += "→";
  EXPECT_EQ(Planted(FindLongLines, "src/base/a.h", arrows), "");
}

TEST(TidyRulesTest, LongFilesAreFound) {
  EXPECT_EQ(Planted(FindLongFile, "src/base/a.h", std::string(500, '\n')), "");
  EXPECT_NE(Planted(FindLongFile, "src/base/a.h", std::string(501, '\n')), "");
}

TEST(TidyRulesTest, CatchAllIsFoundOutsideTheEdges) {
  const std::string text = "try { F(); } catch (...) {}";
  EXPECT_NE(Planted(FindCatchAll, "src/engine/a.cc", text), "");
  EXPECT_EQ(Planted(FindCatchAll, "apps/everstep/main.cc", text), "");
  EXPECT_EQ(Planted(FindCatchAll, "src/engine/a.cc", "catch (const std::exception& e) {}"), "");
}

TEST(TidyRulesTest, TestFilesThatAssertNothingAreFound) {
  EXPECT_NE(Planted(FindTestWithoutAssertion, "src/a_test.cc", "TEST(A, B) { F(); }  // EXPECT_"),
            "");
  EXPECT_EQ(Planted(FindTestWithoutAssertion, "src/a_test.cc", "TEST(A, B) { EXPECT_TRUE(F()); }"),
            "");
}

TEST(TidyRulesTest, UnguardedHeadersAreFound) {
  EXPECT_NE(Planted(FindUnguardedHeader, "src/a.h", "// #pragma once\nint F();\n"), "");
  EXPECT_EQ(Planted(FindUnguardedHeader, "src/a.h", "// A\n#pragma once\nint F();\n"), "");
}

TEST(TidyRulesTest, ModulesWithTooFewAssertionsAreFound) {
  const std::string lines(99, '\n');
  const SourceFile with{"src/store/a.cc", "EVERSTEP_ASSERT(x);\n" + lines};
  const SourceFile compile_time{"src/store/b.h", "static_assert(x);\n" + lines};
  const SourceFile without{"src/store/c.cc", "// EVERSTEP_ASSERT(x);\n" + lines};
  EXPECT_EQ(ToString(FindTooFewAssertions({with, compile_time})), "");
  EXPECT_EQ(ToString(FindTooFewAssertions({with, compile_time, without})),
            "src/store: 2 assertions in 300 lines; add some, at least 10 per 1,000 are required\n");
  // Tests and other modules are not counted.
  const SourceFile test{"src/store/c_test.cc", without.text};
  const SourceFile elsewhere{"src/storefront/c.cc", without.text};
  EXPECT_EQ(ToString(FindTooFewAssertions({with, test, elsewhere})), "");
  EXPECT_NE(ToString(FindTooFewAssertions({{"src/run/a.h", "int x;\n"}, with})), "");
}

TEST(TidyRulesTest, MissingAndSurplusErrorPagesAreFound) {
  EXPECT_EQ(
      ToString(CompareErrorPages({"A", "B"}, {"A.md", "C.md", "README.md"})),
      "docs/errors/B.md: the page is missing\ndocs/errors/C.md: there is no such error code\n");
}

}  // namespace
}  // namespace everstep
