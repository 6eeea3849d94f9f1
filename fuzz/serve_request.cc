#include <algorithm>

#include "base/encoding.h"
#include "base/percent_decode.h"
#include "fuzz/fuzz.h"
#include "serve/batch_reader.h"
#include "serve/query_reader.h"
#include "serve/trace_context.h"
#include "wire/engine_types.h"
#include "wire/work_types.h"

namespace everstep {
namespace {

constexpr std::string_view kWords[] = {"a", "bc"};

template <typename T>
void ReadAs(std::string_view body) {
  const auto read = FromWire<T>(body, UnknownMembers::kRefuse);
  if (!read) return;
  // What is written of it is read again as the same.
  const std::string text = ToWire(*read);
  const auto again = FromWire<T>(text, UnknownMembers::kRefuse);
  FUZZ_REQUIRE(again && ToWire(*again) == text);
}

void ReadBody(std::string_view body) {
  ReadAs<StartBody>(body);
  ReadAs<SignalRequest>(body);
  ReadAs<PollBody>(body);
  const auto batch = SplitBatch("application/json", body);
  if (!batch) return;
  for (const std::string_view document : batch->documents) {
    FUZZ_REQUIRE(document.data() >= body.data());
    FUZZ_REQUIRE(document.data() + document.size() <= body.data() + body.size());
  }
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
