#include <algorithm>

#include "fuzz/fuzz.h"
#include "store/state_store.h"

namespace everstep {
namespace {

constexpr int kRuns = 5;
constexpr std::string_view kTenant = "default";

RunChange NewRun(std::uint64_t number) {
  RunChange change;
  change.run_no = RunNo(number);
  change.run_id = RunId("run-" + std::to_string(number));
  change.position = Position(number);
  change.state.scope = {std::string(kTenant), "default", "default", "plan", "1"};
  change.state.status = RunStatus::kRunning;
  change.state.last_seq = EventSeq(1);
  change.state.created_at = FromMicros(static_cast<std::int64_t>(1'000'000 + number / 2));
  change.state.updated_at = change.state.created_at;
  Event event;
  event.type = EventType::kRunStarted;
  event.seq = EventSeq(1);
  event.event_id = "event-" + std::to_string(number);
  event.emitted_at = change.state.created_at;
  event.persisted_at = change.state.created_at;
  change.events.push_back(std::move(event));
  return change;
}

std::unique_ptr<StateStore> StoreWithRuns() {
  auto store = OpenMemoryStore();
  for (std::uint64_t number = 1; number <= kRuns; ++number) {
    const RunChange change = NewRun(number);
    const RunChange* changes[] = {&change};
    FUZZ_REQUIRE(store->Commit(changes));
  }
  return store;
}

}  // namespace
}  // namespace everstep

// The input: a page size, followed by a cursor. For any cursor, listing must terminate and return
// each run at most once.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace everstep;
  static const std::unique_ptr<StateStore> kStore = StoreWithRuns();
  if (size == 0) return 0;
  RunQuery query;
  query.tenant_id = kTenant;
  query.limit = 1 + bytes[0] % 3U;
  query.cursor = AsText(bytes + 1, size - 1);
  const auto reader = kStore->Read();
  std::size_t seen = 0;
  do {
    const auto page = reader->ListRuns(query);
    if (!page) {
      FUZZ_REQUIRE(page.error().code == ErrorCode::kInvalidArgument);
      return 0;
    }
    FUZZ_REQUIRE(page->runs.size() <= query.limit);
    seen += page->runs.size();
    FUZZ_REQUIRE(seen <= kRuns);
    query.cursor = page->cursor;
  } while (!query.cursor.empty());
  return 0;
}
