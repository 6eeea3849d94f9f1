#include "bus/delivery_queue.h"

#include <algorithm>

#include "base/assert.h"

namespace everstep {
namespace {

// Consecutive refusals that are still attributed to the events rather than to the receiver: enough
// to halve a batch of a hundred until its one bad event is sent alone.
constexpr std::uint32_t kRefusalsInRow = 8;
constexpr std::size_t kReasonBytesMax = 500;

std::string Cut(std::string_view text) { return std::string(text.substr(0, kReasonBytesMax)); }

}  // namespace

DeliveryQueue::DeliveryQueue(DeliveryPolicy policy, bool whole_batches, Position position,
                             Bounds bounds)
    : policy_(policy), whole_batches_(whole_batches), bounds_(bounds), read_up_to_(position) {}

bool DeliveryQueue::HasRoom() const {
  const std::size_t most = failing() ? policy_.batch_events_max : bounds_.events_max;
  return !gone_ && !stalled_ && events_ < most && bytes_ < bounds_.bytes_max &&
         entries_.size() < bounds_.ahead_max;
}

void DeliveryQueue::Add(QueuedEvent event) {
  if (event.letter) {
    ++letters_;
  } else {
    if (entries_.empty() || entries_.back().position != event.position) {
      EVERSTEP_ASSERT(entries_.empty() || entries_.back().position < event.position);
      entries_.push_back({event.position, 0});
    }
    ++entries_.back().open;
  }
  ++events_;
  bytes_ += event.bytes;
  const std::string run_id = event.run_id.value();
  const auto [place, fresh] = lanes_.try_emplace(run_id);
  place->second.events.push_back(std::move(event));
  if (fresh) ready_.push_back(run_id);
}

std::uint32_t DeliveryQueue::LimitOf(const Lane& lane) const {
  return lane.limit == 0 ? policy_.batch_events_max : lane.limit;
}

void DeliveryQueue::WakeDue(Moment now) {
  while (!resting_.empty() && resting_.begin()->first <= now) {
    ready_.push_back(std::move(resting_.begin()->second));
    resting_.erase(resting_.begin());
  }
}

std::optional<DeliveryQueue::Batch> DeliveryQueue::Take(Moment now) {
  if (gone_ || in_flight_.size() >= policy_.in_flight_max || now < closed_until_)
    return std::nullopt;
  // While the receiver fails, send one batch at a time as a probe.
  if (failing() && !in_flight_.empty()) return std::nullopt;
  WakeDue(now);
  Batch batch;
  std::uint64_t bytes = 0;
  std::uint32_t limit = policy_.batch_events_max;
  std::deque<std::string> skipped;
  while (!ready_.empty() && batch.events.size() < limit) {
    std::string run_id = std::move(ready_.front());
    ready_.pop_front();
    const auto place = lanes_.find(run_id);
    EVERSTEP_ASSERT(place != lanes_.end());
    Lane& lane = place->second;
    if (!BuryFaulty(lane)) {
      if (lane.events.empty()) {
        lanes_.erase(place);
      } else {
        Return(run_id, lane, now + policy_.backoff_max);
      }
      continue;
    }
    const std::uint32_t own = LimitOf(lane);
    if (batch.events.empty()) {
      limit = own;
    } else if (own < batch.events.size() + 1) {
      skipped.push_back(std::move(run_id));
      continue;
    }
    limit = std::min(limit, own);
    const std::size_t most = whole_batches_ ? lane.events.size() : 1;
    while (lane.under_way < most && batch.events.size() < limit) {
      QueuedEvent& event = lane.events[lane.under_way];
      const bool fits = batch.events.empty() || bytes + event.bytes <= policy_.batch_bytes_max;
      if (!fits || !event.fault.empty()) break;
      bytes += event.bytes;
      batch.events.push_back(&event);
      ++lane.under_way;
    }
    if (lane.under_way == 0) {  // the batch is full
      skipped.push_front(std::move(run_id));
      break;
    }
  }
  ready_.insert(ready_.begin(), skipped.begin(), skipped.end());
  if (batch.events.empty()) return std::nullopt;
  batch.id = ++last_batch_;
  in_flight_.emplace(batch.id, batch.events);
  return batch;
}

void DeliveryQueue::Report(std::uint64_t batch, const std::vector<Outcome>& outcomes, Moment now,
                           Random& random) {
  const auto found = in_flight_.find(batch);
  EVERSTEP_ASSERT(found != in_flight_.end() && found->second.size() == outcomes.size());
  const std::vector<QueuedEvent*> events = std::move(found->second);
  in_flight_.erase(found);
  const auto is = [&](Verdict verdict) {
    return std::ranges::any_of(outcomes,
                               [verdict](const Outcome& o) { return o.verdict == verdict; });
  };
  const bool some_delivered = is(Verdict::kDelivered);
  const bool unavailable = is(Verdict::kUnavailable);
  if (some_delivered) {
    ++successes_;
    failures_in_row_ = 0;
    closed_until_ = {};
  }
  if (unavailable || is(Verdict::kRefused) || is(Verdict::kGone)) ++failures_;
  if (!some_delivered) ++failures_in_row_;
  gone_ = gone_ || is(Verdict::kGone);
  for (const Outcome& outcome : outcomes) {
    if (outcome.verdict == Verdict::kDelivered) continue;
    last_failure_ = Cut(outcome.reason);
    closed_until_ = std::max(closed_until_, now + outcome.retry_after);
  }

  const std::size_t size = events.size();
  for (std::size_t i = 0; i < size;) {
    const std::string run_id = events[i]->run_id.value();
    Lane& lane = lanes_.at(run_id);
    std::size_t count = lane.under_way;
    lane.under_way = 0;
    EVERSTEP_ASSERT(count > 0 && i + count <= size);
    std::optional<Moment> not_before;
    // Settle the run's events up to the first one not delivered; later ones wait for it.
    for (; count > 0; --count, ++i) {
      QueuedEvent& event = lane.events.front();
      const Outcome& outcome = outcomes[i];
      if (outcome.verdict == Verdict::kDelivered) {
        ++delivered_;
        lane.limit = 0;
        if (event.letter) settled_.gone.emplace_back(event.run_id, event.seq);
        Settle(event);
        lane.events.pop_front();
        continue;
      }
      event.reason = Cut(outcome.reason);
      const bool alone = size == 1 || !whole_batches_;
      const bool healthy = event.tried_at != 0 && successes_ + 1 > event.tried_at;
      if (!alone && (outcome.verdict == Verdict::kRefused || healthy)) {
        lane.limit = static_cast<std::uint32_t>(size / 2);
      }
      const bool blamed = Blame(event, outcome, alone);
      event.tried_at = successes_ + 1;
      if (blamed && event.attempts >= policy_.attempts_max && letters_left_ > 0) {
        Bury(event, event.attempts);
        Drop(lane);
      } else if (blamed) {
        stalled_ = stalled_ || event.attempts >= policy_.attempts_max;
        not_before = now + Backoff(event.attempts, random);
      }
      i += count;
      break;
    }
    Return(run_id, lane, not_before);
  }
  if (some_delivered) return;
  const std::uint32_t tolerated = unavailable || gone_ ? 0 : kRefusalsInRow;
  if (failures_in_row_ > tolerated) {
    closed_until_ = std::max(closed_until_, now + Backoff(failures_in_row_ - tolerated, random));
  }
}

// Returns whether the event itself is to blame.
bool DeliveryQueue::Blame(QueuedEvent& event, const Outcome& outcome, bool alone) {
  if (!alone) return false;
  const bool others_taken = event.tried_at != 0 && successes_ + 1 > event.tried_at;
  if (outcome.verdict == Verdict::kRefused ||
      (outcome.verdict == Verdict::kUnavailable && others_taken)) {
    ++event.attempts;
    return true;
  }
  return false;
}

// Turns faulty events at the front into dead letters. Returns false if nothing is left to send.
bool DeliveryQueue::BuryFaulty(Lane& lane) {
  while (!lane.events.empty() && !lane.events.front().fault.empty()) {
    QueuedEvent& event = lane.events.front();
    if (letters_left_ == 0) {
      stalled_ = true;
      last_failure_ = event.fault;
      return false;
    }
    event.reason = Cut(event.fault);
    Bury(event, std::max<std::uint32_t>(event.attempts, 1));
    Drop(lane);
  }
  return !lane.events.empty();
}

void DeliveryQueue::Bury(QueuedEvent& event, std::uint32_t attempts) {
  settled_.died.push_back({event.run_id, event.seq, event.type, event.persisted_at, Timestamp{},
                           attempts, event.reason});
  if (!event.letter && letters_left_ > 0) --letters_left_;
}

// The lane's first event became a dead letter. Under kHold the others become dead letters too.
void DeliveryQueue::Drop(Lane& lane) {
  const EventSeq first = lane.events.front().seq;
  Settle(lane.events.front());
  lane.events.pop_front();
  lane.limit = 0;
  if (policy_.later == LaterEvents::kPass) return;
  for (QueuedEvent& event : lane.events) {
    if (!event.letter) {  // a replayed letter already is one
      event.reason =
          "held: event " + std::to_string(first.value()) + " of its run is a dead letter";
      Bury(event, 0);
    }
    Settle(event);
  }
  lane.events.clear();
}

void DeliveryQueue::Settle(const QueuedEvent& event) {
  --events_;
  bytes_ -= event.bytes;
  if (event.letter) {
    --letters_;
    return;
  }
  const auto entry = std::ranges::lower_bound(entries_, event.position, {}, &Entry::position);
  EVERSTEP_ASSERT(entry != entries_.end() && entry->position == event.position && entry->open > 0);
  --entry->open;
  while (!entries_.empty() && entries_.front().open == 0) entries_.pop_front();
}

void DeliveryQueue::Return(const std::string& run_id, Lane& lane,
                           std::optional<Moment> not_before) {
  if (lane.events.empty()) {
    lanes_.erase(run_id);
  } else if (not_before) {
    resting_.emplace(*not_before, run_id);
  } else {
    ready_.push_back(run_id);
  }
}

std::chrono::milliseconds DeliveryQueue::Backoff(std::uint32_t failures, Random& random) const {
  const std::uint32_t doublings = std::min<std::uint32_t>(failures - 1, 30);
  const auto initial = static_cast<std::uint64_t>(policy_.backoff_initial.count());
  const auto most = static_cast<std::uint64_t>(policy_.backoff_max.count());
  const std::uint64_t cap = std::max<std::uint64_t>(1, std::min(initial << doublings, most));
  const double share = static_cast<double>(random.Next() >> 11) * 0x1p-53;
  return std::chrono::milliseconds(1 + static_cast<std::int64_t>(share * static_cast<double>(cap)));
}

Position DeliveryQueue::position() const {
  return entries_.empty() ? read_up_to_ : Position(entries_.front().position.value() - 1);
}

DeliveryQueue::Settled DeliveryQueue::TakeSettled() {
  settled_.position = position();
  return std::exchange(settled_, {});
}

std::optional<DeliveryQueue::Moment> DeliveryQueue::NextWake() const {
  if (gone_ || in_flight_.size() >= policy_.in_flight_max) return std::nullopt;
  if (failing() && !in_flight_.empty()) return std::nullopt;
  if (!ready_.empty()) return closed_until_;
  if (resting_.empty()) return std::nullopt;
  return std::max(resting_.begin()->first, closed_until_);
}

}  // namespace everstep
