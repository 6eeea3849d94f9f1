#include "store/row_keys.h"

#include "fuzz/fuzz.h"

// Building a key from the parts of a parsed key must give the same key.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace everstep;
  const std::string_view key = AsText(bytes, size);
  RowKeys keys;
  if (const auto event = ParseEventKey(key)) {
    FUZZ_REQUIRE(keys.Event(event->run, event->seq) == key);
  }
  if (const auto entity = ParseEntityKey(key)) {
    const auto run = ParseRunPrefix(key);
    FUZZ_REQUIRE(run);
    FUZZ_REQUIRE(keys.Entity(*run, *entity) == key);
  }
  if (const auto run = ParseRunByNo(key)) FUZZ_REQUIRE(keys.RunByNo(*run) == key);
  if (const auto position = ParseOutboxKey(key)) FUZZ_REQUIRE(keys.Outbox(*position) == key);
  if (const auto timer = ParseTimerKey(key)) {
    FUZZ_REQUIRE(keys.Timer(timer->due_at, timer->run, timer->wait_id) == key);
  }
  if (const auto age = ParseTombstoneAgeKey(key)) {
    FUZZ_REQUIRE(keys.TombstoneAge(age->removed_at, age->run_id) == key);
  }
  if (const auto sink = ParseSinkMarkKey(key)) FUZZ_REQUIRE(keys.SinkMark(*sink) == key);
  if (const auto letter = ParseDeadLetterKey(key)) {
    const SinkKey sink{std::string(letter->tenant_id), std::string(letter->sink)};
    FUZZ_REQUIRE(keys.DeadLetter(sink, RunId(std::string(letter->run_id)), letter->seq) == key);
  }
  if (const auto listed = ParseListedKey(key)) {
    std::string place;
    AppendListPlace(place, listed->created_at, listed->run);
    FUZZ_REQUIRE(key.ends_with(place));
  }
  return 0;
}
