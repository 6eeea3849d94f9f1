#include <algorithm>

#include "base/json.h"
#include "fuzz/fuzz.h"
#include "serve/percent_decode.h"
#include "serve/query_reader.h"
#include "serve/request_reader.h"
#include "serve/trace_context.h"
#include "work/encoding.h"

namespace everstep {
namespace {

constexpr std::string_view kWords[] = {"a", "bc"};

void ReadBody(std::string_view body) {
  JsonRequest request(body, JsonRequest::Empty::kIsObject);
  ObjectReader root = request.root();
  root.Text("t", Presence::kOptional, kNameText);
  root.Integer("n", Presence::kOptional, 0, 9);
  root.Duration("d", Presence::kOptional);
  root.Time("at", Presence::kOptional);
  root.Word("w", Presence::kOptional, kWords);
  root.Texts("l", Presence::kOptional, 3, kIdentifierText);
  const auto json = root.Json("j", Presence::kOptional);
  if (auto object = root.Object("o", Presence::kOptional)) {
    object->Json("j", Presence::kOptional);
    object->Flag("f", Presence::kRequired);
  }
  for (ObjectReader& item : root.Objects("i", Presence::kOptional, 3)) {
    item.Json("j", Presence::kRequired);
  }
  const Status read = request.Finish();
  FUZZ_REQUIRE(read || !read.error().faults.empty());
  // What is handed on as JSON is JSON.
  if (read && json) FUZZ_REQUIRE(CanonicalJson(*json));
}

void ReadQuery(std::string_view query) {
  QueryReader reader(query);
  const auto text = reader.Text("t");
  FUZZ_REQUIRE(!text || IsUtf8(*text));
  reader.Integer("n", 0, 9);
  reader.Flag("f");
  reader.Duration("d", std::chrono::seconds(30));
  reader.Time("at");
  reader.Words("w", kWords);
  const Status read = reader.Finish();
  FUZZ_REQUIRE(read || !read.error().faults.empty());
}

void ReadSegment(std::string_view segment) {
  const auto decoded = PercentDecode(segment, PlusMeans::kPlus);
  if (decoded) FUZZ_REQUIRE(PercentDecode(PercentEncode(*decoded), PlusMeans::kPlus) == decoded);
}

void ReadTrace(std::string_view text) {
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string_view state = text.substr(std::min(line + 1, text.size()));
  const auto context = ParseTraceContext(text.substr(0, line), state);
  if (context) {
    FUZZ_REQUIRE(ParseTraceContext(Traceparent(*context), context->state) == context);
  }
}

}  // namespace
}  // namespace everstep

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = everstep::AsText(bytes + 1, size - 1);
  switch (bytes[0] % 4) {
    case 0:
      everstep::ReadBody(text);
      break;
    case 1:
      everstep::ReadQuery(text);
      break;
    case 2:
      everstep::ReadSegment(text);
      break;
    default:
      everstep::ReadTrace(text);
  }
  return 0;
}
