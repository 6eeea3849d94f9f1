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

// An event on its way to one sink.
struct QueuedEvent {
  RunId run_id;
  EventSeq seq;
  EventType type{};
  Timestamp persisted_at{};
  Position position{};              // in the outbox
  bool letter = false;              // a dead letter that is sent again; has no position
  std::string fault{};              // why it can never be sent; empty: it can
  std::vector<Message> messages{};  // at least one, unless there is a fault
  std::uint64_t bytes = 0;          // of the messages

  // ---- kept by the queue
  std::uint32_t attempts = 0;  // that count
  std::string reason{};        // of the last failure
  std::uint64_t tried_at = 0;  // successes of the sink when it was tried last, plus one
};

// The events that one sink has not had yet, in order for each run, and what becomes of them.
// Decides and waits for nothing: time and randomness are given. One thread.
//
// A failure is a receiver's or an event's. Who does not answer is left alone for a while, and no
// event is blamed for it unless others were taken since it was last tried. An event that is refused
// is blamed when it was alone; a batch that is refused is sent again in halves until it is.
class DeliveryQueue {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  // As much as may be waiting.
  struct Bounds {
    std::size_t events_max = 20'000;
    std::uint64_t bytes_max = 32 << 20;
    std::size_t ahead_max = 100'000;  // outbox entries behind the first that is not settled
  };

  DeliveryQueue(DeliveryPolicy policy, bool whole_batches, Position position, Bounds bounds);

  // ---- from the outbox
  // False: it has enough. While a receiver fails there is no point in reading on.
  bool HasRoom() const;
  // In the order of the outbox, for each run in the order of seq.
  void Add(QueuedEvent event);
  // All events up to here have been added, or are not for this sink.
  void ReadUpTo(Position position) { read_up_to_ = position; }
  Position read_up_to() const { return read_up_to_; }
  // How many more dead letters there may be. With none left events are tried for ever instead.
  void SetLettersLeft(std::uint64_t letters) {
    letters_left_ = letters;
    stalled_ = stalled_ && letters == 0;
  }

  // ---- to the sink
  struct Batch {
    std::uint64_t id = 0;
    std::vector<QueuedEvent*> events;  // valid until it is reported
  };
  // The next batch to send, if one may be sent now.
  std::optional<Batch> Take(Moment now);
  // One outcome for each event of the batch.
  void Report(std::uint64_t batch, const std::vector<Outcome>& outcomes, Moment now,
              Random& random);

  // ---- to the store
  struct Settled {
    Position position;  // all up to here is settled
    std::vector<DeadLetter> died;
    std::vector<std::pair<RunId, EventSeq>> gone;  // letters that were delivered
  };
  // What has been settled since it was last asked.
  Settled TakeSettled();
  bool has_letters_to_write() const { return !settled_.died.empty() || !settled_.gone.empty(); }
  Position position() const;

  // ---- to look at
  std::size_t waiting() const { return events_; }  // in flight too
  std::size_t letters_waiting() const { return letters_; }
  std::size_t in_flight() const { return in_flight_.size(); }
  std::uint64_t delivered() const { return delivered_; }
  std::uint64_t failures() const { return failures_; }  // of batches
  bool failing() const { return failures_in_row_ > 0; }
  bool gone() const { return gone_; }        // nothing is sent any more
  bool stalled() const { return stalled_; }  // an event would be a dead letter if there was room
  const std::string& last_failure() const { return last_failure_; }
  // When Take has to be asked again, if nothing is reported before.
  std::optional<Moment> NextWake() const;

 private:
  struct Entry {  // of the outbox
    Position position;
    std::uint32_t open = 0;  // events of it that are not settled
  };
  struct Lane {  // of a run
    std::deque<QueuedEvent> events;
    std::size_t under_way = 0;  // of them, at the front
    std::uint32_t limit = 0;    // events of a batch it may be in; zero: as the policy says
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
  std::deque<Entry> entries_;  // that are not settled, or behind one that is not
  Lanes lanes_;
  std::deque<std::string> ready_;  // runs with something to send
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
