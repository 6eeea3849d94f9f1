#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "bus/delivery_policy.h"
#include "bus/sink.h"
#include "store/state_store.h"

namespace everstep {

// An event queued for one sink.
struct QueuedEvent {
  RunId run_id;
  EventSeq seq;
  EventType type{};
  Timestamp persisted_at{};
  Position position{};              // in the outbox
  bool letter = false;              // a dead letter being replayed; it has no position
  std::string fault{};              // why it can never be sent; empty if it can
  std::vector<Message> messages{};  // at least one, unless `fault` is set
  std::uint64_t bytes = 0;          // total size of the messages

  // ---- maintained by the queue
  std::uint32_t attempts = 0;  // failed attempts for which the event itself was blamed
  std::string reason{};        // for the last failure
  std::uint64_t tried_at = 0;  // `successes_` + 1 at the last attempt; 0 if never tried
};

// The events that one sink has not received yet, in order within each run, and their fate. Makes
// decisions only: it never blocks, and time and randomness are passed in. Not thread-safe.
//
// A failure is attributed either to the receiver or to an event. An unreachable receiver is left
// alone for a while; an event is blamed for that only if it was sent alone and other batches have
// been delivered since it was last tried. A refused event is blamed only if it was sent alone; a
// refused batch is retried in halves until then.
class DeliveryQueue {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  // Limits on what may be queued.
  struct Bounds {
    std::size_t events_max = 20'000;
    std::uint64_t bytes_max = 32 << 20;
    std::size_t ahead_max = 100'000;  // outbox entries after the first unsettled one
  };

  DeliveryQueue(DeliveryPolicy policy, bool whole_batches, Position position, Bounds bounds);

  // ---- from the outbox
  // Returns false if the queue holds enough. Reads ahead by only one batch
  // while the receiver fails.
  bool HasRoom() const;
  // Events must be added in outbox order, and within a run in order of seq.
  void Add(QueuedEvent event);
  // Reports that every event up to `position` was added or is not for this sink.
  void ReadUpTo(Position position) { read_up_to_ = position; }
  Position read_up_to() const { return read_up_to_; }
  // Sets how many more dead letters may be stored. At zero, events are retried forever instead.
  void SetLettersLeft(std::uint64_t letters) {
    letters_left_ = letters;
    stalled_ = stalled_ && letters == 0;
  }

  // ---- to the sink
  struct Batch {
    std::uint64_t id = 0;
    std::vector<QueuedEvent*> events;  // valid until the batch is reported
  };
  // Returns the next batch to send, or nothing if none may be sent now.
  std::optional<Batch> Take(Moment now);
  // Requires: one outcome per event of the batch, in the same order.
  void Report(std::uint64_t batch, const std::vector<Outcome>& outcomes, Moment now,
              Random& random);

  // ---- to the store
  struct Settled {
    Position position;  // everything up to here is settled
    std::vector<DeadLetter> died;
    std::vector<std::pair<RunId, EventSeq>> gone;  // replayed letters that were delivered
  };
  // Returns what was settled since the last call.
  Settled TakeSettled();
  bool has_letters_to_write() const { return !settled_.died.empty() || !settled_.gone.empty(); }
  Position position() const;

  // ---- state
  std::size_t waiting() const { return events_; }  // including those in flight
  std::size_t letters_waiting() const { return letters_; }
  std::size_t in_flight() const { return in_flight_.size(); }
  std::uint64_t delivered() const { return delivered_; }
  std::uint64_t failures() const { return failures_; }  // failed batches
  bool failing() const { return failures_in_row_ > 0; }
  bool gone() const { return gone_; }        // nothing is sent any more
  bool stalled() const { return stalled_; }  // there is no room for another dead letter
  const std::string& last_failure() const { return last_failure_; }
  // When Take must be called again if nothing is reported before then.
  std::optional<Moment> NextWake() const;

 private:
  struct Entry {  // an outbox entry
    Position position;
    std::uint32_t open = 0;  // its events that are not settled
  };
  struct Lane {  // the queued events of one run
    std::deque<QueuedEvent> events;
    std::size_t under_way = 0;  // events in flight, at the front
    std::uint32_t limit = 0;    // largest batch it may be part of; zero: the policy's limit
  };
  using Lanes = std::unordered_map<std::string, Lane>;

  void Settle(const QueuedEvent& event);
  void Bury(QueuedEvent& event, std::uint32_t attempts);
  void Drop(Lane& lane);
  bool BuryFaulty(Lane& lane);
  void Return(const std::string& run_id, Lane& lane, std::optional<Moment> not_before);
  bool Blame(QueuedEvent& event, const Outcome& outcome, bool alone);
  std::chrono::milliseconds Backoff(std::uint32_t failures, Random& random) const;
  std::uint32_t LimitOf(const Lane& lane) const;
  void WakeDue(Moment now);

  const DeliveryPolicy policy_;
  const bool whole_batches_;
  const Bounds bounds_;

  Position read_up_to_;
  std::deque<Entry> entries_;  // unsettled, or after an unsettled one
  Lanes lanes_;
  std::deque<std::string> ready_;  // runs with events to send
  std::multimap<Moment, std::string> resting_;
  std::map<std::uint64_t, std::vector<QueuedEvent*>> in_flight_;
  std::uint64_t last_batch_ = 0;
  std::size_t events_ = 0;
  std::size_t letters_ = 0;
  std::uint64_t bytes_ = 0;
  Settled settled_;

  std::uint64_t delivered_ = 0;
  std::uint64_t successes_ = 0;  // batches
  std::uint64_t failures_ = 0;
  std::uint32_t failures_in_row_ = 0;
  Moment closed_until_{};  // nothing is sent before
  bool gone_ = false;
  bool stalled_ = false;
  std::uint64_t letters_left_ = UINT64_MAX;
  std::string last_failure_;
};

}  // namespace everstep
