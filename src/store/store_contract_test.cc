// What every StateStore must do, whatever engine keeps its rows.

#include "testing/store_contract.h"

#include <atomic>
#include <thread>

namespace everstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using enum EventType;

INSTANTIATE_TEST_SUITE_P(Engines, StoreContract, testing::ValuesIn(AllEngines()), EngineName);

// Engines whose rows outlive the process.
class KeepingStoreContract : public StoreContract {};
INSTANTIATE_TEST_SUITE_P(Engines, KeepingStoreContract, testing::ValuesIn(KeepingEngines()),
                         EngineName);

TEST_P(StoreContract, AnEmptyStoreHasNothing) {
  EXPECT_FALSE(Find("run-1"));
  EXPECT_THAT(ListedIds({.tenant_id = "acme"}), IsEmpty());
  EXPECT_THAT(Outbox(), IsEmpty());
  EXPECT_THAT(Due(bench_.now()), IsEmpty());
  EXPECT_EQ(Before(bench_.now()), Position());
  EXPECT_EQ(bench_.store().LastRunNo(), RunNo());
  EXPECT_EQ(bench_.store().LastPosition(), Position());
  EXPECT_EQ(bench_.store().LastPersistedAt(), Timestamp());
}

TEST_P(StoreContract, ACommittedRunIsReadBackAsItWas) {
  RunScribe& run = bench_.StartedRun("run-1");
  ASSERT_TRUE(bench_.Append(run, kStepScheduled, "fetch"));
  ASSERT_TRUE(bench_.Append(run, kStepStarted, "fetch"));
  ASSERT_TRUE(bench_.Append(run, kStepCompleted, "fetch", {.artifacts = R"([{"uri":"a"}])"}));
  ExpectStored(run);
  const auto step = bench_.Read()->FindEntity(run.stored().run_no, {EntityKind::kStep, "fetch"});
  ASSERT_TRUE(step && *step);
  EXPECT_EQ((*step)->status, EntityStatus::kSuccess);
  EXPECT_EQ(bench_.store().LastRunNo(), run.stored().run_no);
  EXPECT_EQ(bench_.store().LastPosition(), Position(4));
  EXPECT_EQ(bench_.store().LastPersistedAt(), run.log().back().persisted_at);
}

TEST_P(StoreContract, ChangesOfSeveralRunsAreOneCommit) {
  RunScribe& one = bench_.NewRun("run-1");
  RunScribe& two = bench_.NewRun("run-2", ScopeOf("other"));
  bench_.Write(one, kRunQueued);
  bench_.Write(two, kRunStarted);
  bench_.Write(two, kStepStarted, "a");
  ASSERT_TRUE(bench_.Commit({&one, &two}));
  ExpectStored(one);
  ExpectStored(two);
}

TEST_P(StoreContract, TwoChangesOfOneRunInACommitApplyInOrder) {
  RunScribe& run = bench_.NewRun("run-1");
  bench_.Write(run, kRunQueued);
  const RunChange first = run.Finish(Position(1));
  bench_.Write(run, kRunStarted);
  const RunChange second = run.Finish(Position(2));
  const std::vector<const RunChange*> changes = {&first, &second};
  ASSERT_TRUE(bench_.store().Commit(changes));
  ExpectStored(run);
  EXPECT_EQ(bench_.Read()->Counts("acme").runs_by_status[static_cast<int>(RunStatus::kRunning)],
            1U);
  EXPECT_EQ(bench_.Read()->Counts("acme").runs_by_status[static_cast<int>(RunStatus::kPending)],
            0U);
}

TEST_P(StoreContract, AnEventIsFoundByItsKeyWithinItsRunOnly) {
  RunScribe& one = bench_.StartedRun("run-1");
  RunScribe& two = bench_.StartedRun("run-2");
  ASSERT_TRUE(bench_.Append(one, kStepStarted, "fetch"));
  const Event& event = one.log().back();
  const auto found = bench_.Read()->FindByKey(one.stored(), event, one.KeyOf(event));
  ASSERT_TRUE(found && *found);
  EXPECT_EQ(**found, event);
  const auto elsewhere = bench_.Read()->FindByKey(two.stored(), event, one.KeyOf(event));
  ASSERT_TRUE(elsewhere);
  EXPECT_FALSE(*elsewhere);
  Event other = event;
  other.logical_attempt = 2;
  const auto unknown = bench_.Read()->FindByKey(one.stored(), other, one.KeyOf(other));
  ASSERT_TRUE(unknown);
  EXPECT_FALSE(*unknown);
}

TEST_P(StoreContract, RunsWithSimilarIdsAndTenantsStayApart) {
  RunScribe& short_id = bench_.StartedRun("a", ScopeOf("t"));
  RunScribe& long_id = bench_.StartedRun("ab", ScopeOf("t:t"));
  ASSERT_TRUE(bench_.Append(short_id, kStepStarted, "x"));
  ASSERT_TRUE(bench_.Append(long_id, kStepStarted, "xy"));
  ExpectStored(short_id);
  ExpectStored(long_id);
  EXPECT_THAT(ListedIds({.tenant_id = "t"}), ElementsAre("a"));
  EXPECT_THAT(ListedIds({.tenant_id = "t:t"}), ElementsAre("ab"));
}

TEST_P(StoreContract, EventsAreReadBySequence) {
  RunScribe& run = bench_.StartedRun("run-1");
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(bench_.Append(run, kStepStarted, "s" + std::to_string(i)));
  }
  bench_.StartedRun("run-2");
  EXPECT_THAT(Seqs(run, {.after = EventSeq(7)}), ElementsAre(8, 9, 10));
  EXPECT_THAT(Seqs(run, {.after = EventSeq(2), .until = EventSeq(4)}), ElementsAre(3, 4));
  EXPECT_THAT(Seqs(run, {.after = EventSeq(3), .limit = 2}), ElementsAre(4, 5));
  EXPECT_THAT(Seqs(run, {.after = EventSeq(10)}), IsEmpty());
  EXPECT_THAT(Seqs(run, {.after = EventSeq(5), .until = EventSeq(5)}), IsEmpty());
}

TEST_P(StoreContract, EventsAreReadByTypeAndByEntity) {
  RunScribe& run = bench_.StartedRun("run-1");  // 1 queued, 2 started
  for (const char* step : {"a", "b", "c"}) {    // 3 4, 5 6, 7 8
    ASSERT_TRUE(bench_.Append(run, kStepStarted, step));
    ASSERT_TRUE(bench_.Append(run, kStepFailed, step, {.will_retry = true}));
  }
  ASSERT_TRUE(bench_.Append(run, kStepStarted, "b"));    // 9
  ASSERT_TRUE(bench_.Append(run, kStepCompleted, "b"));  // 10
  const EntityKey b{EntityKind::kStep, "b"};
  EXPECT_THAT(Seqs(run, {.type = kStepStarted}), ElementsAre(3, 5, 7, 9));
  EXPECT_THAT(Seqs(run, {.entity = b}), ElementsAre(5, 6, 9, 10));
  EXPECT_THAT(Seqs(run, {.type = kStepStarted, .entity = b}), ElementsAre(5, 9));
  EXPECT_THAT(Seqs(run, {.after = EventSeq(3), .until = EventSeq(8), .type = kStepStarted}),
              ElementsAre(5, 7));
  EXPECT_THAT(Seqs(run, {.after = EventSeq(5), .entity = b, .limit = 2}), ElementsAre(6, 9));
  EXPECT_THAT(Seqs(run, {.type = kStepStarted, .limit = 1}), ElementsAre(3));
  EXPECT_THAT(Seqs(run, {.type = kRunFailed}), IsEmpty());
  EXPECT_THAT(Seqs(run, {.entity = EntityKey{EntityKind::kStep, "none"}}), IsEmpty());
  EXPECT_THAT(Seqs(run, {.entity = EntityKey{EntityKind::kRun, ""}}), ElementsAre(1, 2));
}

TEST_P(StoreContract, EventsAreReadFromTheNewest) {
  RunScribe& run = bench_.StartedRun("run-1");  // 1 queued, 2 started
  for (const char* step : {"a", "b", "a"}) {    // 3 4, 5 6, 7 8
    ASSERT_TRUE(bench_.Append(run, kStepStarted, step));
    ASSERT_TRUE(bench_.Append(run, kStepFailed, step, {.will_retry = true}));
  }
  bench_.StartedRun("run-2");
  const EntityKey a{EntityKind::kStep, "a"};
  EXPECT_THAT(Seqs(run, {.limit = 3, .newest_first = true}), ElementsAre(8, 7, 6));
  EXPECT_THAT(Seqs(run, {.after = EventSeq(2), .until = EventSeq(4), .newest_first = true}),
              ElementsAre(4, 3));
  EXPECT_THAT(Seqs(run, {.until = EventSeq(2), .newest_first = true}), ElementsAre(2, 1));
  EXPECT_THAT(Seqs(run, {.after = EventSeq(8), .newest_first = true}), IsEmpty());
  EXPECT_THAT(Seqs(run, {.entity = a, .newest_first = true}), ElementsAre(8, 7, 4, 3));
  EXPECT_THAT(Seqs(run, {.until = EventSeq(7), .entity = a, .limit = 2, .newest_first = true}),
              ElementsAre(7, 4));
  EXPECT_THAT(Seqs(run, {.type = kStepStarted, .limit = 1, .newest_first = true}), ElementsAre(7));
  bench_.Write(run, kStepStarted, "c");  // not committed
  EXPECT_THAT(Seqs(run, {.limit = 1, .newest_first = true}), ElementsAre(8));
  ASSERT_TRUE(bench_.Commit({&run}));
}

TEST_P(StoreContract, AReadEndsWithTheEventThatReachesItsBytes) {
  RunScribe& run = bench_.StartedRun("run-1");  // 1 queued, 2 started
  const std::string payload = "{\"text\":\"" + std::string(90, 'x') + "\"}";
  ASSERT_EQ(payload.size(), 101U);
  for (int i = 0; i < 6; ++i) {  // 3 to 8
    ASSERT_TRUE(bench_.Append(run, kStepStarted, "s" + std::to_string(i), {}, payload));
  }
  const auto read = [&](EventQuery query) {
    const auto events = Events(run, query);
    std::vector<std::uint64_t> seqs;
    for (const Event& event : events) seqs.push_back(event.seq.value());
    return std::pair(seqs, MayHaveMore(query, events));
  };
  using Seqs = std::vector<std::uint64_t>;
  const EventSeq two(2);
  EXPECT_EQ(read({.after = two, .bytes_max = 202}), std::pair(Seqs({3, 4}), true));
  EXPECT_EQ(read({.after = two, .bytes_max = 203}), std::pair(Seqs({3, 4, 5}), true));
  EXPECT_EQ(read({.after = two, .bytes_max = 1}), std::pair(Seqs({3}), true));
  EXPECT_EQ(read({.after = two, .bytes_max = 607}), std::pair(Seqs({3, 4, 5, 6, 7, 8}), false));
  EXPECT_EQ(read({.after = two, .limit = 1, .bytes_max = 203}), std::pair(Seqs({3}), true));
  EXPECT_EQ(read({.bytes_max = 203, .newest_first = true}), std::pair(Seqs({8, 7, 6}), true));
  EXPECT_EQ(read({.type = kStepStarted, .bytes_max = 202}), std::pair(Seqs({3, 4}), true));
  EXPECT_EQ(read({.type = kStepStarted, .bytes_max = 203}), std::pair(Seqs({3, 4, 5}), true));
  EXPECT_EQ(read({.type = kStepStarted, .bytes_max = 1}), std::pair(Seqs({3}), true));
  EXPECT_EQ(read({.type = kStepStarted, .bytes_max = 607}),
            std::pair(Seqs({3, 4, 5, 6, 7, 8}), false));
  EXPECT_EQ(read({.type = kStepStarted, .bytes_max = 203, .newest_first = true}),
            std::pair(Seqs({8, 7, 6}), true));
}

TEST_P(StoreContract, AReaderDoesNotSeeWhatTheCallersStateIsAheadOf) {
  RunScribe& run = bench_.StartedRun("run-1");
  bench_.Write(run, kStepStarted, "a");  // not committed
  EXPECT_THAT(Seqs(run, {}), ElementsAre(1, 2));
  EXPECT_THAT(Seqs(run, {.type = kStepStarted}), IsEmpty());
  ASSERT_TRUE(bench_.Commit({&run}));
  EXPECT_THAT(Seqs(run, {.type = kStepStarted}), ElementsAre(3));
}

TEST_P(StoreContract, EntitiesAreVisitedInOrderAndByKind) {
  RunScribe& run = bench_.StartedRun("run-1");
  for (const char* step : {"b", "a"}) ASSERT_TRUE(bench_.Append(run, kStepStarted, step));
  ASSERT_TRUE(bench_.Append(run, kHookCreated, "h", {.token = "tok"}));
  std::vector<std::string> seen;
  const auto visit = [&](const EntityKey& key, const EntityState&) { seen.push_back(key.id); };
  ASSERT_TRUE(bench_.Read()->VisitEntities(run.stored().run_no, {}, visit));
  EXPECT_THAT(seen, ElementsAre("a", "b", "h"));
  seen.clear();
  ASSERT_TRUE(bench_.Read()->VisitEntities(run.stored().run_no, EntityKind::kHook, visit));
  EXPECT_THAT(seen, ElementsAre("h"));
}

TEST_P(StoreContract, ATokenLeadsToItsHookUntilItIsFree) {
  RunScribe& run = bench_.StartedRun("run-1");
  ASSERT_TRUE(bench_.Append(run, kHookCreated, "h1", {.token = "tok"}));
  EXPECT_EQ(Hook("acme", "tok"), (HookHolder{RunId("run-1"), "h1"}));
  EXPECT_FALSE(Hook("other", "tok"));
  EXPECT_FALSE(Hook("acme", "to"));
  ASSERT_TRUE(bench_.Append(run, kHookDisposed, "h1"));
  EXPECT_FALSE(Hook("acme", "tok"));
  RunScribe& next = bench_.StartedRun("run-2");
  ASSERT_TRUE(bench_.Append(next, kHookCreated, "h2", {.token = "tok"}));
  EXPECT_EQ(Hook("acme", "tok"), (HookHolder{RunId("run-2"), "h2"}));
}

TEST_P(StoreContract, TheSameTokenServesTwoTenants) {
  RunScribe& one = bench_.StartedRun("run-1", ScopeOf("a"));
  RunScribe& two = bench_.StartedRun("run-2", ScopeOf("b"));
  ASSERT_TRUE(bench_.Append(one, kHookCreated, "h", {.token = "tok"}));
  ASSERT_TRUE(bench_.Append(two, kHookCreated, "h", {.token = "tok"}));
  EXPECT_EQ(Hook("a", "tok")->run_id, RunId("run-1"));
  EXPECT_EQ(Hook("b", "tok")->run_id, RunId("run-2"));
}

TEST_P(StoreContract, TimersAreDueInOrderOfTime) {
  RunScribe& one = bench_.StartedRun("run-1");
  RunScribe& two = bench_.StartedRun("run-2");
  const Timestamp start = bench_.now();
  const auto at = [&](int seconds) { return start + std::chrono::seconds(seconds); };
  ASSERT_TRUE(bench_.Append(one, kWaitCreated, "late", {.due_at = at(30)}));
  ASSERT_TRUE(bench_.Append(two, kWaitCreated, "soon", {.due_at = at(10)}));
  ASSERT_TRUE(bench_.Append(one, kWaitCreated, "then", {.due_at = at(20)}));
  const Timer soon{at(10), RunId("run-2"), "soon"};
  const Timer then{at(20), RunId("run-1"), "then"};
  EXPECT_THAT(Due(at(9)), IsEmpty());
  EXPECT_THAT(Due(at(20)), ElementsAre(soon, then));
  EXPECT_THAT(Due(at(99), 1), ElementsAre(soon));
  ASSERT_TRUE(bench_.Append(two, kWaitCompleted, "soon"));
  EXPECT_THAT(Due(at(20)), ElementsAre(then));
  ASSERT_TRUE(bench_.Append(one, kRunCompleted));
  EXPECT_THAT(Due(at(99)), IsEmpty());
}

TEST_P(StoreContract, TheOutboxListsEveryCommitInOrder) {
  RunScribe& one = bench_.StartedRun("run-1");
  RunScribe& two = bench_.StartedRun("run-2");
  bench_.Write(one, kStepStarted, "a");
  bench_.Write(two, kStepStarted, "a");
  bench_.Write(two, kStepCompleted, "a");
  ASSERT_TRUE(bench_.Commit({&two, &one}));
  const auto entry = [](std::uint64_t position, const RunScribe& run, std::uint64_t first,
                        std::uint64_t last) {
    return OutboxEntry{Position(position), run.run_id(), EventSeq(first), EventSeq(last),
                       run.log()[last - 1].persisted_at};
  };
  EXPECT_THAT(Outbox(), ElementsAre(entry(1, one, 1, 2), entry(2, two, 1, 2), entry(3, two, 3, 4),
                                    entry(4, one, 3, 3)));
  EXPECT_THAT(Outbox(Position(2), 1), ElementsAre(entry(3, two, 3, 4)));
  EXPECT_THAT(Outbox(Position(3)), ElementsAre(entry(4, one, 3, 3)));
  EXPECT_THAT(Outbox(Position(4)), IsEmpty());
  EXPECT_THAT(Outbox(Position(UINT64_MAX)), IsEmpty());
}

TEST_P(StoreContract, PositionBeforeFindsTheLastEarlierPosition) {
  RunScribe& run = bench_.StartedRun("run-1");
  std::vector<Timestamp> times = {run.log().front().persisted_at};
  for (int i = 1; i < 20; ++i) {
    bench_.AdvanceClock(std::chrono::seconds(i % 3));
    times.push_back(bench_.now());
    ASSERT_TRUE(bench_.Append(run, kStepStarted, "s" + std::to_string(i)));
  }
  EXPECT_EQ(Before(times.front() - std::chrono::seconds(1)), Position(0));
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(Before(times[i]), Position(i));
    EXPECT_EQ(Before(times[i] + std::chrono::microseconds(1)), Position(i + 1));
  }
}

TEST_P(StoreContract, PositionBeforeFindsAPositionWithinACommit) {
  RunScribe& one = bench_.StartedRun("run-1");
  RunScribe& two = bench_.StartedRun("run-2");
  bench_.AdvanceClock(std::chrono::seconds(1));
  bench_.Write(two, kStepStarted, "a");
  bench_.AdvanceClock(std::chrono::seconds(1));
  bench_.Write(one, kStepStarted, "a");
  const Timestamp later = bench_.now();
  ASSERT_TRUE(bench_.Commit({&two, &one}));
  EXPECT_EQ(Before(later - std::chrono::seconds(1)), Position(2));
  EXPECT_EQ(Before(later), Position(3));
  EXPECT_EQ(Before(later + std::chrono::seconds(1)), Position(4));
}

// The clock was ahead and has been set back.
TEST_P(StoreContract, PositionBeforeSkipsNoEventAfterTheClockWasSetBack) {
  RunScribe& early = bench_.StartedRun("early");
  bench_.AdvanceClock(std::chrono::hours(3));
  RunScribe& ahead = bench_.StartedRun("ahead");
  bench_.AdvanceClock(-std::chrono::hours(2));
  RunScribe& late = bench_.StartedRun("late");
  const Timestamp begun = early.log().front().persisted_at;
  EXPECT_EQ(Before(begun + std::chrono::minutes(30)), Position(1));
  EXPECT_EQ(Before(late.log().back().persisted_at), Position(1));
  EXPECT_EQ(Before(ahead.log().back().persisted_at), Position(1));
  EXPECT_THAT(bench_.Faults(), IsEmpty());
  EXPECT_EQ(bench_.store().LastPersistedAt(), ahead.log().back().persisted_at);
}

TEST_P(StoreContract, EarliestBehindIsALowerBoundAfterTheClockWasSetBack) {
  RunScribe& early = bench_.StartedRun("early");
  bench_.AdvanceClock(std::chrono::hours(3));
  RunScribe& ahead = bench_.StartedRun("ahead");
  bench_.AdvanceClock(-std::chrono::hours(2));
  RunScribe& late = bench_.StartedRun("late");
  bench_.AdvanceClock(std::chrono::hours(4));
  RunScribe& after = bench_.StartedRun("after");
  if (GetParam().keeps) ReopenStore();
  const auto earliest = [&](std::uint64_t position) {
    return bench_.Read()->EarliestBehind(Position(position)).value();
  };
  EXPECT_LE(*earliest(0), early.log().back().persisted_at);
  EXPECT_LE(*earliest(1), late.log().back().persisted_at) << "after " << ahead.run_id().value();
  EXPECT_LE(*earliest(2), late.log().back().persisted_at);
  EXPECT_EQ(*earliest(3), after.log().back().persisted_at) << "the clock was right by then";
  EXPECT_EQ(earliest(4), std::nullopt);
}

TEST_P(StoreContract, ATokenGoesFromOneRunToAnotherInOneCommit) {
  RunScribe& older = bench_.StartedRun("run-1");
  RunScribe& newer = bench_.StartedRun("run-2");
  ASSERT_TRUE(bench_.Append(newer, kHookCreated, "h", {.token = "t"}));
  bench_.Write(newer, kHookDisposed, "h");
  bench_.Write(older, kHookCreated, "h", {.token = "t"});
  ASSERT_TRUE(bench_.Commit({&newer, &older}));
  const auto holder = bench_.Read()->FindHook("acme", "t");
  ASSERT_TRUE(holder && *holder);
  EXPECT_EQ((*holder)->run_id, older.run_id());
}

TEST_P(StoreContract, CountsFollowTheRuns) {
  RunScribe& one = bench_.StartedRun("run-1");
  bench_.StartedRun("run-2");
  bench_.StartedRun("run-3", ScopeOf("other"));
  ASSERT_TRUE(bench_.Append(one, kRunCompleted));
  const auto counts = bench_.Read()->Counts("acme");
  EXPECT_EQ(counts.events, 5U);
  EXPECT_EQ(counts.runs_by_status[static_cast<int>(RunStatus::kRunning)], 1U);
  EXPECT_EQ(counts.runs_by_status[static_cast<int>(RunStatus::kCompleted)], 1U);
  EXPECT_EQ(bench_.Read()->Counts("other").events, 2U);
  EXPECT_EQ(bench_.Read()->Counts("nobody").events, 0U);
}

TEST_P(StoreContract, VisitsEveryRunInOrderOfCreationAndMayWriteMeanwhile) {
  for (int i = 0; i < 600; ++i) bench_.StartedRun("run-" + std::to_string(i));
  std::uint64_t visited = 0;
  ASSERT_TRUE(bench_.store().VisitRuns([&](const StoredRun& run) {
    EXPECT_EQ(run.run_no, RunNo(++visited));
    return visited == 300 ? bench_.store().Quarantine(run.run_id, "odd") : Ok();
  }));
  EXPECT_EQ(visited, 600U);
  const Status stopped = bench_.store().VisitRuns([](const StoredRun&) {
    return Status(Error{ErrorCode::kStoreIo, "enough", {}});
  });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().message, "enough");
}

TEST_P(StoreContract, DocumentsAreFoundByNameAndListedInItsOrder) {
  const auto key = [](const char* tenant, const char* name) {
    return DocumentKey{DocumentKind::kPlanVersion, tenant, name};
  };
  const DocumentKey other{DocumentKind::kArtifact, "acme", "a"};
  const std::vector<TenantDocument> documents = {{key("acme", "b"), "B"},
                                                 {key("acme", "a"), "A"},
                                                 {key("acme", "ab"), "AB"},
                                                 {key("acme2", "a"), "other"},
                                                 {other, "another kind"}};
  ASSERT_TRUE(bench_.store().PutDocuments(documents));
  EXPECT_EQ(*bench_.store().Read()->FindDocument(key("acme", "a")), "A");
  EXPECT_EQ(*bench_.store().Read()->FindDocument(key("acme", "c")), std::nullopt);
  const auto names = [&](DocumentQuery query) {
    std::string text;
    const auto found = bench_.store().Read()->ListDocuments(query);
    for (const TenantDocument& document : *found)
      text += document.key.name + "=" + *document.text + " ";
    return text;
  };
  const DocumentKind plans = DocumentKind::kPlanVersion;
  EXPECT_EQ(names({plans, "acme"}), "a=A ab=AB b=B ");
  EXPECT_EQ(names({.kind = plans, .tenant_id = "acme", .after = "a"}), "ab=AB b=B ");
  EXPECT_EQ(names({.kind = plans, .tenant_id = "acme", .prefix = "a"}), "a=A ab=AB ");
  EXPECT_EQ(names({plans, "acme", "a", "a", 1}), "ab=AB ");
  EXPECT_EQ(names({.kind = plans, .tenant_id = "acme", .limit = 1}), "a=A ");
  const std::vector<TenantDocument> change = {{key("acme", "a"), std::nullopt},
                                              {key("acme", "b"), "B2"}};
  ASSERT_TRUE(bench_.store().PutDocuments(change));
  EXPECT_EQ(names({plans, "acme"}), "ab=AB b=B2 ");
}

TEST_P(StoreContract, CountsTheBytesOfATenant) {
  const auto counts = [this](const char* tenant) { return bench_.Read()->Counts(tenant); };
  RunScribe& kept = bench_.StartedRun("run-1");
  const std::uint64_t before = counts("acme").row_bytes;
  EXPECT_GT(before, 0U);
  RunScribe& gone = bench_.StartedRun("run-2");
  ASSERT_TRUE(bench_.Append(gone, kStepStarted, "a", {.error_message = std::string(5000, 'x')}));
  EXPECT_GT(counts("acme").row_bytes, before + 5000);
  EXPECT_EQ(counts("other").bytes(), 0U);

  const DocumentKey chunk{DocumentKind::kStreamChunk, "acme",
                          std::string("run-2\0"
                                      "0",
                                      7)};
  const DocumentKey plan{DocumentKind::kPlanVersion, "acme", "p"};
  const DocumentKey artifact{DocumentKind::kArtifact, "acme", "a"};
  const std::vector<TenantDocument> documents = {
      {chunk, std::string(300, 'c')}, {plan, std::string(70, 'p')}, {artifact, "a", 1'000}};
  const std::uint64_t events = counts("acme").row_bytes;
  ASSERT_TRUE(bench_.store().PutDocuments(documents));
  EXPECT_EQ(counts("acme").row_bytes, events + 371);
  EXPECT_EQ(counts("acme").file_bytes, 1'000U);
  ASSERT_TRUE(bench_.store().PutDocuments(documents));  // again: nothing is counted twice
  EXPECT_EQ(counts("acme").row_bytes, events + 371);
  EXPECT_EQ(counts("acme").file_bytes, 1'000U);
  const std::vector<TenantDocument> change = {{plan, "pp"}, {plan, std::nullopt}, {plan, "ppp"}};
  ASSERT_TRUE(bench_.store().PutDocuments(change));
  EXPECT_EQ(counts("acme").row_bytes, events + 304);
  EXPECT_THAT(bench_.Faults(), IsEmpty());

  const std::vector<RunId> purged = {gone.run_id()};
  ASSERT_TRUE(bench_.store().Purge(purged, bench_.now(), {}));
  EXPECT_EQ(counts("acme").row_bytes, before + 4);  // the run with its stream is gone
  EXPECT_THAT(bench_.Faults(), IsEmpty());
  ExpectStored(kept);
}

TEST_P(StoreContract, AQuarantinedRunKeepsItsReason) {
  RunScribe& run = bench_.StartedRun("run-1");
  ASSERT_TRUE(bench_.store().Quarantine(run.run_id(), "event 2 cannot be read"));
  EXPECT_EQ(Find("run-1")->quarantine, "event 2 cannot be read");
  EXPECT_EQ(Find("run-1")->state, run.stored().state);
  EXPECT_EQ(List({.tenant_id = "acme"}).runs.at(0).quarantine, "event 2 cannot be read");
  EXPECT_EQ(bench_.store().Quarantine(RunId("nobody"), "x").error().code, ErrorCode::kRunNotFound);
}

TEST_P(KeepingStoreContract, AReopenedStoreHasAllOfIt) {
  RunScribe& run = bench_.StartedRun("run-1");
  RunScribe& gone = bench_.StartedRun("run-2");
  ASSERT_TRUE(bench_.Append(run, kStepStarted, "a"));
  ASSERT_TRUE(bench_.Append(run, kHookCreated, "h", {.token = "tok"}));
  ASSERT_TRUE(bench_.store().Quarantine(run.run_id(), "why not"));
  const std::vector<RunId> purged = {gone.run_id()};
  ASSERT_TRUE(bench_.store().Purge(purged, bench_.now(), {}));
  ReopenStore();
  ExpectStored(run);
  EXPECT_EQ(Hook("acme", "tok"), (HookHolder{RunId("run-1"), "h"}));
  EXPECT_EQ(Find("run-1")->quarantine, "why not");
  EXPECT_TRUE(*bench_.Read()->FindTombstone(gone.run_id()));
  EXPECT_EQ(bench_.store().LastPosition(), Position(4));
  EXPECT_EQ(bench_.store().LastRunNo(), RunNo(2));
  EXPECT_EQ(bench_.store().LastPersistedAt(), run.log().back().persisted_at);
  ASSERT_TRUE(bench_.Append(run, kStepCompleted, "a"));
  EXPECT_EQ(bench_.Read()->Counts("acme").events, 5U);
}

TEST_P(StoreContract, EveryViewIsConsistentDuringConcurrentCommits) {
  RunScribe& one = bench_.StartedRun("run-1");
  RunScribe& two = bench_.StartedRun("run-2");
  std::atomic<bool> done = false;
  std::thread reader([&] {
    while (!done.load()) {
      // Both runs grow in the same commits, so they are the same length at every moment.
      const auto view = bench_.store().Read();
      const auto first = view->FindRun(RunId("run-1"));
      const auto second = view->FindRun(RunId("run-2"));
      ASSERT_EQ((*first)->state.last_seq, (*second)->state.last_seq);
      const auto events = view->ReadEvents(**second, {});
      ASSERT_EQ(events->size(), (*first)->state.last_seq.value());
      ASSERT_EQ(view->Counts("acme").events, 2 * events->size());
      const auto outbox = view->ReadOutbox({}, 100'000);
      ASSERT_EQ(outbox->back().last_seq, (*first)->state.last_seq);
    }
  });
  for (int i = 0; i < 200; ++i) {
    bench_.Write(one, kStepStarted, "s" + std::to_string(i));
    bench_.Write(two, kStepStarted, "s" + std::to_string(i));
    ASSERT_TRUE(bench_.Commit({&one, &two}));
  }
  done.store(true);
  reader.join();
}

}  // namespace
}  // namespace everstep
