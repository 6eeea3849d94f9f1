// What every StateStore must do with lists of runs and with removed runs.

#include <set>

#include "testing/store_contract.h"

namespace everstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using enum EventType;

class ListContract : public StoreContract {
 protected:
  RunScope Scope(const std::string& project, const std::string& plan) {
    return {"acme", project, "prod", plan, "1"};
  }
  Status Purge(const std::vector<RunId>& runs, Timestamp expired = {}) {
    return bench_.store().Purge(runs, bench_.now(), expired);
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, ListContract, testing::ValuesIn(AllEngines()), EngineName);

TEST_P(ListContract, RunsAreListedNewestFirst) {
  for (const char* id : {"c", "a", "b"}) bench_.StartedRun(id);
  EXPECT_THAT(ListedIds({.tenant_id = "acme"}), ElementsAre("b", "a", "c"));
}

TEST_P(ListContract, RunsAreListedOldestFirstWhenAskedTo) {
  std::vector<Timestamp> created;
  for (const char* id : {"a", "b", "c", "d", "e"}) {
    created.push_back(bench_.now());
    bench_.StartedRun(id);
  }
  RunQuery query{.tenant_id = "acme", .limit = 2, .oldest_first = true};
  EXPECT_THAT(ListedIds(query), ElementsAre("a", "b"));
  query.cursor = List(query).cursor;
  EXPECT_THAT(ListedIds(query), ElementsAre("c", "d"));
  query.cursor = List(query).cursor;
  EXPECT_THAT(ListedIds(query), ElementsAre("e"));
  const RunPage last = List(query);
  EXPECT_EQ(last.cursor, "");
  // Runs that are created later are found after the last cursor.
  query.cursor = last.cursors.back();
  EXPECT_THAT(ListedIds(query), IsEmpty());
  bench_.StartedRun("f");
  EXPECT_THAT(ListedIds(query), ElementsAre("f"));
  query.cursor.clear();
  query.created_from = created[1];
  query.created_until = created[3];
  query.limit = 10;
  EXPECT_THAT(ListedIds(query), ElementsAre("b", "c"));
}

TEST_P(ListContract, EveryRunOfAPageHasACursor) {
  for (const char* id : {"a", "b", "c"}) bench_.StartedRun(id);
  RunQuery query{.tenant_id = "acme"};
  const RunPage page = List(query);
  ASSERT_EQ(page.cursors.size(), 3U);
  query.cursor = page.cursors[1];
  EXPECT_THAT(ListedIds(query), ElementsAre("a"));
}

TEST_P(ListContract, CursorsOfDifferentListsCanBeCompared) {
  for (const char* id : {"a", "b", "c"}) bench_.StartedRun(id);
  for (const bool oldest_first : {false, true}) {
    const RunQuery all{.tenant_id = "acme", .oldest_first = oldest_first};
    const RunQuery running{
        .tenant_id = "acme", .status = RunStatus::kRunning, .oldest_first = oldest_first};
    const RunPage one = List(all);
    const RunPage other = List(running);
    EXPECT_EQ(one.rows, 3U);
    EXPECT_TRUE(IsListedBefore(all, one.cursors[0], other.cursors[1]));
    EXPECT_FALSE(IsListedBefore(all, one.cursors[1], other.cursors[1]));
    EXPECT_FALSE(IsListedBefore(all, one.cursors[2], other.cursors[1]));
  }
}

TEST_P(ListContract, HeldTokensAreListedByTenant) {
  for (const char* id : {"a", "b", "c"}) {
    RunScribe& run = bench_.StartedRun(id);
    ASSERT_TRUE(bench_.Append(run, kHookCreated, "hook", {.token = std::string("t-") + id}));
  }
  const auto tokens = [this](const char* tenant, const char* after, std::size_t limit) {
    std::vector<std::string> found;
    const auto held = bench_.Read()->ListHooks(tenant, after, limit);
    for (const HeldToken& token : *held)
      found.push_back(token.token + "=" + token.holder.run_id.value());
    return found;
  };
  EXPECT_THAT(tokens("acme", "", 10), ElementsAre("t-a=a", "t-b=b", "t-c=c"));
  EXPECT_THAT(tokens("acme", "t-a", 1), ElementsAre("t-b=b"));
  EXPECT_THAT(tokens("acm", "", 10), IsEmpty());
}

TEST_P(ListContract, StreamsGoWithTheirRun) {
  RunScribe& run = bench_.StartedRun("run-1");
  ASSERT_TRUE(bench_.Append(run, kRunCompleted));
  const auto document = [](DocumentKind kind, const std::string& name) {
    return TenantDocument{{kind, "acme", name}, "x"};
  };
  const std::string mine("run-1\0out", 9);
  const std::string other("run-10\0out", 10);
  ASSERT_TRUE(bench_.store().PutDocuments(std::vector{document(DocumentKind::kStream, mine),
                                                      document(DocumentKind::kStreamChunk, mine),
                                                      document(DocumentKind::kStream, other)}));
  ASSERT_TRUE(Purge({RunId("run-1")}));
  const auto reader = bench_.Read();
  EXPECT_FALSE(*reader->FindDocument({DocumentKind::kStream, "acme", mine}));
  EXPECT_FALSE(*reader->FindDocument({DocumentKind::kStreamChunk, "acme", mine}));
  EXPECT_TRUE(*reader->FindDocument({DocumentKind::kStream, "acme", other}));
}

TEST_P(ListContract, EachFilterChoosesItsRuns) {
  RunScribe& one = bench_.StartedRun("one", Scope("web", "build"));
  bench_.StartedRun("two", Scope("web", "deploy"));
  bench_.StartedRun("three", Scope("db", "build"));
  bench_.StartedRun("four", {"acme", "web", "test", "build", "2"});
  bench_.StartedRun("five", ScopeOf("other"));
  ASSERT_TRUE(bench_.Append(one, kRunFailed));
  const auto ids = [this](RunQuery query) {
    query.tenant_id = "acme";
    return ListedIds(query);
  };
  EXPECT_THAT(ids({}), ElementsAre("four", "three", "two", "one"));
  EXPECT_THAT(ids({.project_id = "web"}), ElementsAre("four", "two", "one"));
  EXPECT_THAT(ids({.environment_id = "prod"}), ElementsAre("three", "two", "one"));
  EXPECT_THAT(ids({.project_id = "web", .environment_id = "prod"}), ElementsAre("two", "one"));
  EXPECT_THAT(ids({.plan_id = "build"}), ElementsAre("four", "three", "one"));
  EXPECT_THAT(ids({.status = RunStatus::kFailed}), ElementsAre("one"));
  EXPECT_THAT(ids({.status = RunStatus::kRunning}), ElementsAre("four", "three", "two"));
  EXPECT_THAT(ids({.project_id = "web", .plan_id = "build", .status = RunStatus::kRunning}),
              ElementsAre("four"));
  EXPECT_THAT(ids({.plan_id = "none"}), IsEmpty());
}

TEST_P(ListContract, TheTimeOfCreationIsAFilter) {
  std::vector<Timestamp> created;
  for (const char* id : {"a", "b", "c", "d"}) {
    bench_.AdvanceClock(std::chrono::seconds(1));
    created.push_back(bench_.now());
    bench_.StartedRun(id);
  }
  EXPECT_THAT(ListedIds({.tenant_id = "acme", .created_from = created[2]}), ElementsAre("d", "c"));
  EXPECT_THAT(ListedIds({.tenant_id = "acme", .created_until = created[2]}), ElementsAre("b", "a"));
  EXPECT_THAT(
      ListedIds({.tenant_id = "acme", .created_from = created[1], .created_until = created[2]}),
      ElementsAre("b"));
}

TEST_P(ListContract, PagesNeitherRepeatNorLoseARunWhileNewOnesArrive) {
  for (int i = 0; i < 23; ++i) bench_.StartedRun("old-" + std::to_string(i));
  std::vector<std::string> seen;
  RunQuery query{.tenant_id = "acme", .limit = 5};
  int pages = 0;
  do {
    const RunPage page = List(query);
    for (const StoredRun& run : page.runs) seen.push_back(run.run_id.value());
    query.cursor = page.cursor;
    bench_.StartedRun("new-" + std::to_string(++pages));
  } while (!query.cursor.empty());
  EXPECT_EQ(pages, 5);
  ASSERT_EQ(seen.size(), 23U);
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 23U);
  EXPECT_EQ(seen.front(), "old-22");
  EXPECT_EQ(seen.back(), "old-0");
}

TEST_P(ListContract, RunsCreatedInTheSameInstantArePagedOneByOne) {
  std::vector<RunChange> changes;
  for (std::uint64_t i = 1; i <= 4; ++i) {
    RunScribe& run = bench_.NewRun("run-" + std::to_string(i));
    bench_.Write(run, kRunStarted);
    changes.push_back(run.Finish(Position(i)));
  }
  const std::vector<const RunChange*> commit = {&changes[0], &changes[1], &changes[2], &changes[3]};
  ASSERT_TRUE(bench_.store().Commit(commit));
  std::vector<std::string> seen;
  RunQuery query{.tenant_id = "acme", .limit = 1};
  do {
    const RunPage page = List(query);
    ASSERT_EQ(page.runs.size(), 1U);
    seen.push_back(page.runs.front().run_id.value());
    query.cursor = page.cursor;
  } while (!query.cursor.empty());
  EXPECT_THAT(seen, ElementsAre("run-4", "run-3", "run-2", "run-1"));
}

TEST_P(ListContract, ACursorIsUrlSafeAndInvalidOnesAreRefused) {
  for (const char* id : {"a", "b", "c"}) bench_.StartedRun(id);
  const std::string cursor = List({.tenant_id = "acme", .limit = 1}).cursor;
  EXPECT_THAT(cursor, testing::MatchesRegex("[A-Za-z0-9_-]+"));
  EXPECT_THAT(ListedIds({.tenant_id = "acme", .plan_id = "plan", .cursor = cursor}),
              ElementsAre("b", "a"));
  std::string changed = cursor;
  changed[3] = changed[3] == '0' ? '1' : '0';
  const std::vector<std::string> nonsense = {"x", cursor + "0", cursor.substr(1), changed,
                                             std::string(cursor.size(), '!')};
  for (const std::string& text : nonsense) {
    const auto page = bench_.Read()->ListRuns({.tenant_id = "acme", .cursor = text});
    ASSERT_FALSE(page) << text;
    EXPECT_EQ(page.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_FALSE(bench_.Read()->ListRuns({}));
}

TEST_P(ListContract, APurgedRunLeavesATombstoneAndNothingElse) {
  RunScribe& kept = bench_.StartedRun("kept");
  RunScribe& gone = bench_.StartedRun("gone");
  ASSERT_TRUE(bench_.Append(gone, kStepStarted, "a"));
  ASSERT_TRUE(bench_.Append(gone, kHookCreated, "h", {.token = "tok"}));
  ASSERT_TRUE(
      bench_.Append(gone, kWaitCreated, "w", {.due_at = bench_.now() + std::chrono::hours(1)}));
  ASSERT_TRUE(bench_.store().Quarantine(gone.run_id(), "odd"));
  ASSERT_TRUE(Purge({gone.run_id(), RunId("nobody"), gone.run_id()}));

  EXPECT_FALSE(Find("gone"));
  EXPECT_THAT(Events(gone), IsEmpty());
  EXPECT_FALSE(Hook("acme", "tok"));
  EXPECT_THAT(Due(bench_.now() + std::chrono::hours(2)), IsEmpty());
  EXPECT_THAT(ListedIds({.tenant_id = "acme"}), ElementsAre("kept"));
  EXPECT_EQ(bench_.Read()->Counts("acme").events, 2U);
  EXPECT_EQ(Outbox().size(), 1U);
  const auto tombstone = bench_.Read()->FindTombstone(gone.run_id());
  ASSERT_TRUE(tombstone && *tombstone);
  EXPECT_EQ((*tombstone)->status, RunStatus::kRunning);
  EXPECT_EQ((*tombstone)->last_seq, EventSeq(5));
  EXPECT_EQ((*tombstone)->removed_at, bench_.now());
  EXPECT_EQ((*tombstone)->tenant_id, "acme");
  EXPECT_FALSE(*bench_.Read()->FindTombstone(kept.run_id()));
  ExpectStored(kept);
}

TEST_P(ListContract, ATombstoneGoesWhenItsWindowCloses) {
  RunScribe& first = bench_.StartedRun("first");
  RunScribe& second = bench_.StartedRun("second");
  ASSERT_TRUE(Purge({first.run_id()}));
  bench_.AdvanceClock(std::chrono::hours(1));
  ASSERT_TRUE(Purge({second.run_id()}));
  ASSERT_TRUE(Purge({}, bench_.now()));
  EXPECT_FALSE(*bench_.Read()->FindTombstone(RunId("first")));
  EXPECT_TRUE(*bench_.Read()->FindTombstone(RunId("second")));
}

TEST_P(ListContract, ARemovedIdMayBeTakenAgain) {
  RunScribe& first = bench_.StartedRun("again");
  ASSERT_TRUE(Purge({first.run_id()}));
  RunScribe& second = bench_.StartedRun("again");
  ExpectStored(second);
  EXPECT_NE(first.stored().run_no, second.stored().run_no);
  bench_.AdvanceClock(std::chrono::hours(1));
  ASSERT_TRUE(Purge({second.run_id()}));
  EXPECT_EQ((*bench_.Read()->FindTombstone(RunId("again")))->removed_at, bench_.now());
}

TEST_P(ListContract, TheOutboxKeepsItsPlaceWhenItsFrontIsRemoved) {
  RunScribe& first = bench_.StartedRun("first");
  RunScribe& second = bench_.StartedRun("second");
  RunScribe& third = bench_.StartedRun("third");
  const Timestamp late = third.log().front().persisted_at;
  ASSERT_TRUE(Purge({first.run_id(), second.run_id()}));
  ASSERT_EQ(Outbox().size(), 1U);
  EXPECT_EQ(Outbox()[0].position, Position(3));
  EXPECT_EQ(Before(late), Position(2));
  ASSERT_TRUE(Purge({third.run_id()}));
  EXPECT_THAT(Outbox(), IsEmpty());
  EXPECT_EQ(bench_.store().LastPosition(), Position(3));
  if (GetParam().keeps) ReopenStore();
  EXPECT_EQ(bench_.store().LastPosition(), Position(3));
  EXPECT_EQ(bench_.store().LastRunNo(), RunNo(3));
  EXPECT_EQ(bench_.store().LastPersistedAt(), late);
  EXPECT_EQ(Before(bench_.now()), Position(3));
  bench_.StartedRun("fourth");
  EXPECT_EQ(Outbox()[0].position, Position(4));
}

TEST_P(ListContract, APageWithARareFilterStopsEarlyAndCanBeContinued) {
  std::vector<RunChange> changes;
  std::vector<const RunChange*> commit;
  constexpr std::uint64_t kRuns = 10'050;
  for (std::uint64_t i = 1; i <= kRuns; ++i) {
    RunScope scope = Scope("web", "build");
    if (i == 1) scope.environment_id = "rare";
    RunScribe run(RunNo(i), "run-" + std::to_string(i), scope);
    run.Write(bench_.now(), kRunStarted);
    changes.push_back(run.Finish(Position(i)));
  }
  for (const RunChange& change : changes) commit.push_back(&change);
  ASSERT_TRUE(bench_.store().Commit(commit));
  RunQuery query{.tenant_id = "acme", .environment_id = "rare"};
  const RunPage first = List(query);
  EXPECT_THAT(first.runs, IsEmpty());
  ASSERT_FALSE(first.cursor.empty());
  query.cursor = first.cursor;
  EXPECT_THAT(ListedIds(query), ElementsAre("run-1"));
}

}  // namespace
}  // namespace everstep
