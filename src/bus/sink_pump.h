#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "bus/delivery_queue.h"
#include "bus/event_renderer.h"
#include "bus/sink.h"
#include "engine/committer.h"
#include "everstep/log.h"

namespace everstep {

// A snapshot of a sink's state.
struct SinkProgress {
  Position position;
  std::uint64_t dead_letters = 0;
  std::uint64_t waiting = 0;
  std::uint64_t in_flight = 0;  // batches
  std::uint64_t delivered = 0;  // since the sink was started
  std::uint64_t failures = 0;
  std::uint64_t replaying = 0;  // dead letters still to be replayed
  bool failing = false;
  bool stalled = false;
  bool gone = false;
  std::string last_failure;
};

// Dead letters to replay.
struct Replay {
  std::vector<std::pair<RunId, EventSeq>> letters;  // ordered by run and seq
  double per_second = 0;                            // zero: as fast as the sink accepts them
};

// Moves events from the outbox to a sink: reads ahead, sends what is due, and persists what was
// settled. Its thread calls Turn, which never blocks on the receiver. Events that were settled but
// not yet persisted are sent again after a crash.
class SinkPump {
 public:
  using Moment = DeliveryQueue::Moment;
  static constexpr std::chrono::milliseconds kSaveEvery{250};

  struct Parts {
    StateStore& store;
    Committer& committer;
    Clock& clock;
    Random& random;
    Sink& sink;
    KeepPayload keep_payload;
    std::function<void(const Alert&)> on_alert;
    std::function<void()> wake;  // requests a call of Turn; called from any thread
  };
  SinkPump(Parts parts, SinkMark mark, const SinkDefinition& definition,
           DeliveryQueue::Bounds bounds = {});

  struct Next {
    std::optional<Moment> at;  // call Turn at this time at the latest
    bool on_commit = false;    // and when something becomes durable
  };
  Next Turn(Moment now);
  void SetPaused(bool paused) { paused_ = paused; }
  // Persists the position.
  Status Save();
  // kInvalidArgument if a replay is already in progress.
  Status Begin(Replay replay);
  // Discards dead letters. Durable on return; on failure nothing has changed.
  Status Purge(const std::vector<std::pair<RunId, EventSeq>>& letters);

  // Thread-safe.
  SinkProgress progress() const;

 private:
  struct Report {
    std::uint64_t batch;
    std::vector<Outcome> outcomes;  // one per message
  };
  struct Change {  // an outbox entry with its events
    OutboxEntry entry;
    StoredRun run;
    std::vector<Event> events;
    bool held = false;
    std::string fault;
  };

  void TakeReports(Moment now);
  bool ReadOn();
  bool ReadPage();
  Change ReadChange(StateReader& reader, const OutboxEntry& entry);
  void Add(const Change& change);
  bool IsHeld(StateReader& reader, const RunId& run_id);
  // Defined in sink_pump_replay.cc.
  bool CanFeedReplay() const;
  void FeedReplay(Moment now);
  bool FeedLetter(const RunId& run_id, EventSeq seq);
  bool FindMoreLetters();
  void ReadLetterCount();
  void CountLettersLeft();
  void Send(const DeliveryQueue::Batch& batch);
  void Gather();
  void Raise(std::size_t died, const DeadLetter& first) const;
  void Publish();
  bool holds() const { return definition_.delivery.later_events == "hold"; }

  const Parts parts_;
  const SinkDefinition definition_;
  const EventRenderer renderer_;
  SinkMark mark_;  // as persisted
  DeliveryQueue queue_;
  SinkMove unsaved_;
  Moment save_at_{};
  Moment retry_at_{};  // after a store failure
  bool paused_ = false;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> sent_;  // messages per event
  std::unordered_map<std::string, bool> held_;  // per run, for the page being read
  std::string store_fault_;

  Replay replay_;
  std::size_t replay_next_ = 0;
  Moment replay_at_{};
  std::set<std::string> replayed_runs_;
  std::set<std::string> failed_runs_;  // during the replay

  mutable std::mutex mutex_;
  std::vector<Report> reports_;  // guarded by mutex_, as the next
  SinkProgress progress_;
};

}  // namespace everstep
