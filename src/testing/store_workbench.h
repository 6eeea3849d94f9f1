#pragma once

#include <chrono>
#include <deque>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "store/state_store.h"
#include "testing/run_scribe.h"

namespace everstep {

// A store under test, with a clock and runs to write into it.
class StoreWorkbench {
 public:
  explicit StoreWorkbench(std::unique_ptr<StateStore> store)
      : store_(std::move(store)), last_run_(store_ == nullptr ? 0 : store_->LastRunNo().value()) {}

  StateStore& store() { return *store_; }
  std::unique_ptr<StateReader> Read() { return store_->Read(); }
  void Close() { store_.reset(); }
  void Take(std::unique_ptr<StateStore> store) { store_ = std::move(store); }

  Timestamp now() const { return now_; }
  void AdvanceClock(std::chrono::microseconds by) { now_ += by; }

  // A run that is not committed yet. Lives as long as the bench.
  RunScribe& NewRun(const std::string& run_id, RunScope scope = ScopeOf("acme")) {
    return scribes_.emplace_back(RunNo(++last_run_), run_id, std::move(scope));
  }
  // A started run that is in the store.
  RunScribe& StartedRun(const std::string& run_id, RunScope scope = ScopeOf("acme")) {
    RunScribe& run = NewRun(run_id, std::move(scope));
    Write(run, EventType::kRunQueued);
    Write(run, EventType::kRunStarted);
    EVERSTEP_ASSERT(Commit({&run}).has_value());
    return run;
  }
  void Write(RunScribe& run, EventType type, std::string entity_id = {}, EventFacts facts = {},
             std::string payload = {}) {
    run.Write(now_, type, std::move(entity_id), std::move(facts), std::move(payload));
  }
  // Commits what was written to each run, in one commit.
  Status Commit(std::initializer_list<RunScribe*> runs) {
    std::vector<RunChange> changes;
    std::uint64_t position = store_->LastPosition().value();
    for (RunScribe* run : runs) changes.push_back(run->Finish(Position(++position)));
    std::vector<const RunChange*> pointers;
    for (const RunChange& change : changes) pointers.push_back(&change);
    AdvanceClock(std::chrono::milliseconds(1));
    return store_->Commit(pointers);
  }
  Status Append(RunScribe& run, EventType type, std::string entity_id = {}, EventFacts facts = {},
                std::string payload = {}) {
    Write(run, type, std::move(entity_id), std::move(facts), std::move(payload));
    return Commit({&run});
  }

  std::vector<std::string> Faults() {
    std::vector<std::string> faults;
    const Status checked = store_->Check(
        [&](const StoreFault& fault) { faults.push_back(fault.run_id + ": " + fault.what); });
    if (!checked) faults.push_back(ToString(checked.error()));
    return faults;
  }

 private:
  std::unique_ptr<StateStore> store_;
  Timestamp now_ = FromMicros(1'770'000'000'000'000);
  std::uint64_t last_run_ = 0;
  std::deque<RunScribe> scribes_;
};

}  // namespace everstep
