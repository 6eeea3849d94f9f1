#include "tests/layers.h"

#include <gtest/gtest.h>

namespace everstep {
namespace {

Layers OurLayers() {
  for (const SourceFile& file : ReadSources({"src"})) {
    if (file.path == "src/LAYERS") return ParseLayers(file.text);
  }
  return {};
}

Layers Sample() {
  return ParseLayers("# a comment\ninclude <-\nbase <-\nevent <- base\ntesting <- event\n");
}

TEST(LayersTest, LinesNameWhatAModuleMayInclude) {
  const Layers layers = Sample();
  EXPECT_EQ(layers.size(), 4U);
  EXPECT_TRUE(layers.at("base").empty());
  EXPECT_EQ(layers.at("event"), std::set<std::string>{"base"});
}

TEST(LayersTest, OurModulesHaveNoCycle) {
  const Layers layers = OurLayers();
  ASSERT_GE(layers.size(), 8U);
  EXPECT_EQ(ToString(CheckLayers(layers)), "");
}

TEST(LayersTest, NoFileHasAForbiddenInclude) {
  const Layers layers = OurLayers();
  std::vector<Finding> findings;
  int files = 0;
  for (const SourceFile& file : ReadSources({"include", "src", "apps"})) {
    if (!IsCode(file)) continue;
    ++files;
    for (Finding& finding : CheckIncludes(layers, file)) findings.push_back(std::move(finding));
  }
  EXPECT_GT(files, 10);
  EXPECT_TRUE(findings.empty()) << ToString(findings);
}

TEST(LayersTest, ABackEdgeIsFound) {
  const SourceFile planted{"src/base/clock.h", "#pragma once\n#include \"event/event.h\"\n"};
  EXPECT_EQ(ToString(CheckIncludes(Sample(), planted)),
            "src/base/clock.h:2: base may not include event\n");
}

TEST(LayersTest, ThePublicHeadersIncludeNoModule) {
  const SourceFile planted{"include/everstep/log.h", "#  include \"base/clock.h\"\n"};
  EXPECT_EQ(ToString(CheckIncludes(Sample(), planted)),
            "include/everstep/log.h:1: include may not include base\n");
}

TEST(LayersTest, AnUnknownModuleIsFoundOnEitherSide) {
  const SourceFile from{"src/attic/a.cc", "#include \"base/clock.h\"\n"};
  EXPECT_EQ(ToString(CheckIncludes(Sample(), from)),
            "src/attic/a.cc: module 'attic' has no line in src/LAYERS\n");
  const SourceFile to{"src/event/a.cc", "#include \"attic/a.h\"\n"};
  EXPECT_EQ(ToString(CheckIncludes(Sample(), to)), "src/event/a.cc:1: unknown module 'attic'\n");
}

TEST(LayersTest, AllowedIncludesPass) {
  const SourceFile file{"src/event/event.cc",
                        "#include \"event/event.h\"\n#include <vector>\n#include \"base/clock.h\"\n"
                        "#include \"everstep/result.h\"\n"};
  EXPECT_EQ(ToString(CheckIncludes(Sample(), file)), "");
}

TEST(LayersTest, OnlyTestsUseTesting) {
  const std::string text = "#include \"testing/model.h\"\n";
  EXPECT_EQ(ToString(CheckIncludes(Sample(), {"src/base/a_test.cc", text})), "");
  EXPECT_EQ(ToString(CheckIncludes(Sample(), {"src/base/a.cc", text})),
            "src/base/a.cc:1: base may not include testing\n");
}

TEST(LayersTest, AnAppMayHaveItsOwnLine) {
  const Layers layers = ParseLayers("testing <-\napps <-\napps/simulate <- testing\n");
  const std::string text = "#include \"testing/model.h\"\n";
  EXPECT_EQ(ToString(CheckIncludes(layers, {"apps/simulate/main.cc", text})), "");
  EXPECT_EQ(ToString(CheckIncludes(layers, {"apps/other/main.cc", text})),
            "apps/other/main.cc:1: apps may not include testing\n");
}

TEST(LayersTest, AnAppMayHaveItsOwnFolders) {
  const Layers layers = ParseLayers("base <-\napps <- base\n");
  const SourceFile file{"apps/everstep/main.cc",
                        "#include \"bench/report.h\"\n#include \"base/clock.h\"\n"};
  EXPECT_EQ(ToString(CheckIncludes(layers, file)), "");
}

TEST(LayersTest, ACycleAndAMissingModuleAreFound) {
  EXPECT_EQ(ToString(CheckLayers(ParseLayers("a <- b\nb <- a\nc <- d\n"))),
            "src/LAYERS: a depends on itself\nsrc/LAYERS: b depends on itself\n"
            "src/LAYERS: c <- d: no such module\n");
}

}  // namespace
}  // namespace everstep
