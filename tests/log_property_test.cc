#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/append_authority.h"
#include "engine/committer.h"
#include "engine/projector.h"
#include "testing/answer_book.h"
#include "testing/log_checks.h"
#include "testing/manual_clock.h"
#include "testing/random_orders.h"
#include "testing/reference_log.h"

// The log on the memory store, one random order after another.

namespace everstep {
namespace {

// Few runs with many orders each, so that even a short list of numbers yields a long history.
constexpr std::uint64_t kMoment = 0;

class LogUnderTest {
 public:
  Result<Placed> Append(const AppendOrder& order) {
    clock_.Advance(std::chrono::milliseconds(7));
    return authority_.Await(authority_.Submit(std::span(&order, 1), RandomOrderDefaults())).front();
  }
  StateStore& store() { return *store_; }
  // The run appended to last; empty if there is none.
  std::vector<Event> Events(const RunId& run_id) {
    const auto reader = store_->Read();
    const auto run = *reader->FindRun(run_id);
    return run ? *reader->ReadEvents(*run, {}) : std::vector<Event>();
  }

 private:
  ManualClock clock_;
  SeededRandom random_{1};
  std::unique_ptr<StateStore> store_ = OpenMemoryStore();
  Committer committer_{*store_, clock_, {}};
  AppendAuthority authority_{*store_, committer_, clock_, random_, {.memory_bytes_max = 1}};
};

// One number per order, so that a failing list of numbers can be shrunk.
AppendOrder OrderOf(std::uint64_t number) {
  SeededRandom random(number);
  return RandomOrders(random).Next(kMoment);
}

// Long lists: a history needs some events before it becomes interesting.
rc::Gen<std::vector<std::uint64_t>> AnyNumbers() {
  return rc::gen::scale(3.0, rc::gen::arbitrary<std::vector<std::uint64_t>>());
}

void ExpectNone(const Findings& findings) {
  for (const std::string& finding : findings) RC_FAIL(finding);
}

RC_GTEST_PROP(LogPropertyTest, RandomAppendsAgreeWithTheReference, ()) {
  const std::vector<std::uint64_t> numbers = *AnyNumbers();
  LogUnderTest log;
  ReferenceLog reference;
  AnswerBook book;
  for (const std::uint64_t number : numbers) {
    const std::size_t sent = book.Send(OrderOf(number));
    Attempt& attempt = book.attempt(sent);
    attempt.expected = reference.Append(attempt.order, RandomOrderDefaults());
    const std::string wrong = TakeAnswer(book, sent, log.Append(attempt.order));
    if (!wrong.empty()) RC_FAIL(Describe(attempt.order) + " " + wrong);
    const auto stored = ReadStoredLog(log.store());
    RC_ASSERT(stored.has_value());
    ExpectNone(CheckAgainstReference(*stored, reference));
  }
  const auto stored = ReadStoredLog(log.store());
  RC_ASSERT(stored.has_value());
  ExpectNone(CheckAcknowledged(*stored, book, reference));
  ExpectNone(CheckRefused(*stored, book));
  ExpectNone(CheckVerified(log.store()));
}

RC_GTEST_PROP(LogPropertyTest, ReplayEqualsLiveStateAfterEveryEvent, ()) {
  const std::vector<std::uint64_t> numbers = *AnyNumbers();
  LogUnderTest log;
  for (const std::uint64_t number : numbers) {
    const AppendOrder order = OrderOf(number);
    if (!log.Append(order)) continue;
    const auto reader = log.store().Read();
    const StoredRun run = **reader->FindRun(order.run_id);
    RunFold fold(run.state.scope, run.state.key_version);
    const auto events = reader->ReadEvents(run, {});
    RC_ASSERT(events.has_value());
    for (const Event& event : *events) {
      RC_ASSERT(fold.Apply(event) == RunFold::Applied::kApplied);
    }
    RC_ASSERT(fold.run() == run.state);
    RunFold::Entities stored;
    const auto keep = [&](EntityKey key, EntityState state) {
      stored.emplace(std::move(key), std::move(state));
    };
    RC_ASSERT(reader->VisitEntities(run.run_no, std::nullopt, keep).has_value());
    RC_ASSERT(fold.entities() == stored);
  }
}

RC_GTEST_PROP(LogPropertyTest, ARebuiltSnapshotEqualsTheIncrementalOne, ()) {
  const std::vector<std::uint64_t> numbers = *AnyNumbers();
  LogUnderTest log;
  std::map<RunId, Projection> projections;
  for (const std::uint64_t number : numbers) {
    const AppendOrder order = OrderOf(number);
    if (!log.Append(order)) continue;
    const StoredRun run = **log.store().Read()->FindRun(order.run_id);
    const RunIdentity identity{run.run_id, run.state.scope, run.state.key_version};
    const std::vector<Event> events = log.Events(order.run_id);
    Projection& projection = projections.try_emplace(run.run_id, identity).first->second;
    projection = IncrementalProject(projection, events);
    const Projection rebuilt = ProjectRun(identity, events);
    RC_ASSERT(!projection.stale());
    RC_ASSERT(projection.alerts().empty());
    RC_ASSERT(projection.watermark() == run.state.last_seq);
    RC_ASSERT(projection.Snapshot() == rebuilt.Snapshot());
    // The snapshot as of any earlier event must equal the one taken then.
    const std::size_t at = number % events.size();
    const auto head = std::span(events).first(at);
    const Projection earlier = ProjectRun(identity, head);
    RC_ASSERT(IncrementalProject(earlier, events).Snapshot() == rebuilt.Snapshot());
  }
}

}  // namespace
}  // namespace everstep
