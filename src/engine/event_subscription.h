#pragma once

#include <atomic>
#include <string>

#include "base/clock.h"
#include "engine/commit_feed.h"
#include "everstep/log.h"
#include "store/state_store.h"

namespace everstep {

// Follows a run's log or, for all runs, the outbox.
class EventSubscription final : public Subscription {
 public:
  // `after`: a runSeq, or a position in the outbox if the run id is empty.
  struct From {
    RunId run_id;
    std::uint64_t after;
    Dialect dialect;
  };
  EventSubscription(StateStore& store, CommitFeed& feed, Clock& clock, From from);

  Result<std::vector<LogEvent>> Next(std::size_t limit, std::chrono::milliseconds wait) override;
  std::uint64_t position() const override { return after_; }
  Result<ProjectionLag> Lag() override;
  void Close() override { watch_.Close(); }

 private:
  Result<std::vector<LogEvent>> ReadOn(std::size_t limit);

  StateStore& store_;
  Clock& clock_;
  const RunId run_id_;
  const Dialect dialect_;
  std::uint64_t after_;
  CommitFeed::Watch watch_;
};

}  // namespace everstep
