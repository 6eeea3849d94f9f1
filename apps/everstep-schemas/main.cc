// everstep-schemas DIRECTORY: writes DIRECTORY/schemas/<dialect>/<event>.schema.json,
// DIRECTORY/schemas/plan.schema.json and DIRECTORY/docs/events.md. This program generates
// the checked-in files.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "event/schema.h"
#include "flow/plan_schema.h"

namespace {

bool WriteFile(const std::filesystem::path& path, std::string_view text) {
  std::error_code failure;
  std::filesystem::create_directories(path.parent_path(), failure);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return true;
  std::fprintf(stderr, "everstep-schemas: cannot write %s\n", path.c_str());
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: everstep-schemas DIRECTORY\n", stderr);
    return 2;
  }
  const std::filesystem::path root = argv[1];
  const auto schemas = everstep::ListSchemas();
  for (const everstep::SchemaDocument& schema : schemas) {
    if (!WriteFile(root / "schemas" / schema.path, schema.text)) return 1;
  }
  if (!WriteFile(root / "schemas" / "plan.schema.json", everstep::PlanSchema())) return 1;
  if (!WriteFile(root / "docs" / "events.md", everstep::EventsPage())) return 1;
  std::printf("%zu schemas, 1 page\n", schemas.size() + 1);
  return 0;
}
