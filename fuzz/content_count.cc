// Arbitrary content: a parser must never create more values than CountValues counted.

#include "base/content_count.h"

#include "base/cbor.h"
#include "base/value.h"
#include "flow/document.h"
#include "fuzz/fuzz.h"

namespace {

using namespace everstep;

std::size_t ValuesOf(const Value& value) {
  std::size_t values = 1;
  if (value.kind() == Value::Kind::kList) {
    for (const Value& item : value.list()) values += ValuesOf(item);
  } else if (value.kind() == Value::Kind::kMap) {
    for (const auto& [key, member] : *value.shared_members()) values += ValuesOf(member);
  }
  return values;
}

std::size_t ValuesOf(const Node& node) {
  std::size_t values = 1;
  for (const Node& child : node.children()) values += ValuesOf(child);
  return values;
}

std::size_t ValuesOf(const CborItem& item) {
  std::size_t values = 1;
  for (const CborItem& child : item.items) values += ValuesOf(child);
  return values;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view content = AsText(bytes, size);
  if (const auto value = ValueFromJson(content)) {
    FUZZ_REQUIRE(ValuesOf(*value) <= CountValues(ContentKind::kJson, content));
  }
  if (const auto item = ParseCbor(content)) {
    FUZZ_REQUIRE(ValuesOf(*item) <= CountValues(ContentKind::kCbor, content));
  }
  // Aliases are excluded: the values that they add have a separate limit.
  if (const auto document = ParseDocument(content, 1 << 20);
      document && content.find('*') == std::string_view::npos) {
    FUZZ_REQUIRE(ValuesOf(document->root) <= CountValues(ContentKind::kYaml, content));
  }
  return 0;
}
