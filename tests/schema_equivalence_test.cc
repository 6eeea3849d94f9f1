#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "event/dialect.h"
#include "event/document_shape.h"
#include "tests/document_generator.h"

namespace everstep {
namespace {

constexpr std::size_t kDocumentsPerDialect = 4000;
constexpr std::uint64_t kSeed = 20260211;

std::string_view TypeMember(Dialect dialect) {
  if (dialect == Dialect::kNoetl) return "event_type";
  return dialect == Dialect::kElephant ? "detail-type" : "eventType";
}

// One line of input for schema_equivalence.py.
std::string Record(Dialect dialect, std::string_view event, const std::string& document) {
  const auto order = ParseEvent(dialect, document);
  std::string line;
  JsonWriter writer(line);
  writer.BeginObject();
  writer.Member("dialect", Name(dialect));
  writer.Member("event", event);
  writer.RawMember("document", document);
  writer.Key("pointers");
  writer.BeginArray();
  if (!order) {
    EXPECT_TRUE(order.error().code == ErrorCode::kSchemaValidationFailed ||
                order.error().code == ErrorCode::kEventTypeUnknown)
        << ToString(order.error()) << "\n"
        << document;
    EXPECT_FALSE(order.error().faults.empty()) << document;
    for (const Fault& fault : order.error().faults) writer.String(fault.pointer);
  }
  writer.EndArray();
  writer.EndObject();
  return line;
}

TEST(SchemaEquivalence, TheCompiledCheckAgreesWithAJsonSchemaValidator) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("everstep-equivalence-" + std::to_string(::getpid()) + ".ndjson");
  std::ofstream records(path, std::ios::binary);
  DocumentGenerator generator(kSeed);
  for (const Dialect dialect : WritableDialects()) {
    const std::vector<DocumentShape> shapes = DocumentShapes(dialect);
    for (std::size_t i = 0; i < kDocumentsPerDialect; ++i) {
      const DocumentShape& shape = shapes[i % shapes.size()];
      const std::string document = i / shapes.size() % 4 == 0
                                       ? generator.Fitting(shape)
                                       : generator.Damaged(shape, TypeMember(dialect));
      records << Record(dialect, shape.name, document) << "\n";
    }
  }
  records.close();
  const std::string command = "/usr/bin/python3 " EVERSTEP_SOURCE_DIR
                              "/tests/schema_equivalence.py " EVERSTEP_SOURCE_DIR "/schemas " +
                              path.string();
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::filesystem::remove(path);
}

TEST(SchemaEquivalence, DocumentsMadeToFitAreAccepted) {
  DocumentGenerator generator(kSeed);
  for (const Dialect dialect : WritableDialects()) {
    for (const DocumentShape& shape : DocumentShapes(dialect)) {
      for (int i = 0; i < 50; ++i) {
        const std::string document = generator.Fitting(shape);
        const auto order = ParseEvent(dialect, document);
        ASSERT_TRUE(order) << ToString(order.error()) << "\n" << document;
      }
    }
  }
}

}  // namespace
}  // namespace everstep
