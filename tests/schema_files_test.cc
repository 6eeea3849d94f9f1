#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "event/schema.h"
#include "flow/plan_schema.h"

namespace everstep {
namespace {

const std::filesystem::path kRoot = EVERSTEP_SOURCE_DIR;
constexpr std::string_view kMend = "run: everstep-schemas " EVERSTEP_SOURCE_DIR;

std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(SchemaFiles, MatchTheTables) {
  for (const SchemaDocument& schema : ListSchemas()) {
    EXPECT_EQ(Contents(kRoot / "schemas" / schema.path), schema.text)
        << schema.path << "; " << kMend;
  }
}

TEST(SchemaFiles, ThePlanSchemaMatchesTheCode) {
  EXPECT_EQ(Contents(kRoot / "schemas" / "plan.schema.json"), PlanSchema()) << kMend;
}

TEST(SchemaFiles, HaveNoSurplusFile) {
  std::set<std::string> expected = {"plan.schema.json", "openapi.json"};
  for (const SchemaDocument& schema : ListSchemas()) expected.insert(schema.path);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / "schemas")) {
    if (!entry.is_regular_file()) continue;
    const std::string path = std::filesystem::relative(entry.path(), kRoot / "schemas");
    EXPECT_TRUE(expected.contains(path)) << path;
  }
}

TEST(SchemaFiles, TheEventsPageMatchesTheTables) {
  EXPECT_EQ(Contents(kRoot / "docs" / "events.md"), EventsPage()) << kMend;
}

}  // namespace
}  // namespace everstep
