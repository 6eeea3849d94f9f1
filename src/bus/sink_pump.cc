#include "bus/sink_pump.h"

#include <algorithm>

#include "base/assert.h"

namespace everstep {
namespace {

constexpr std::size_t kEntriesAtOnce = 256;
constexpr std::size_t kPagesPerTurn = 8;
constexpr std::chrono::seconds kStoreRetry{1};

// The outcome of an event: the worst among its messages.
Outcome Worst(std::vector<Outcome>::const_iterator from, std::size_t count) {
  const auto grade = [](const Outcome& outcome) {
    switch (outcome.verdict) {
      case Verdict::kDelivered:
        return 0;
      case Verdict::kRefused:
        return 1;
      case Verdict::kUnavailable:
        return 2;
      case Verdict::kGone:
        break;
    }
    return 3;
  };
  return *std::max_element(from, from + static_cast<std::ptrdiff_t>(count),
                           [&](const Outcome& a, const Outcome& b) { return grade(a) < grade(b); });
}

}  // namespace

SinkPump::SinkPump(Parts parts, SinkMark mark, const SinkDefinition& definition,
                   DeliveryQueue::Bounds bounds)
    : parts_(std::move(parts)),
      definition_(definition),
      renderer_(definition, mark.key.tenant_id, parts_.keep_payload),
      mark_(std::move(mark)),
      queue_(definition.Policy(), parts_.sink.takes_whole_batches(), mark_.position, bounds) {
  unsaved_.mark = mark_;
  CountLettersLeft();
  Publish();
}

SinkPump::Next SinkPump::Turn(Moment now) {
  TakeReports(now);
  Gather();
  const bool gone = queue_.gone() && mark_.open;
  const bool urgent = gone || !unsaved_.died.empty() || !unsaved_.gone.empty();
  if (now >= retry_at_ && (urgent || now >= save_at_)) {
    if (const Status saved = Save(); !saved) retry_at_ = now + kStoreRetry;
    save_at_ = now + kSaveEvery;
  }
  // Don't produce more letters to write while earlier ones could not be written.
  const bool stuck = !unsaved_.died.empty() || !unsaved_.gone.empty();
  const bool may_send = !paused_ && !stuck && now >= retry_at_;
  bool more = false;
  if (may_send) {
    more = ReadOn();
    FeedReplay(now);
    while (const auto batch = queue_.Take(now)) Send(*batch);
    Gather();
  }
  Publish();
  Next next;
  const auto sooner = [&next](std::optional<Moment> at) {
    if (at && (!next.at || *at < *next.at)) next.at = at;
  };
  if (!unsaved_.died.empty() || !unsaved_.gone.empty()) sooner(std::max(now, retry_at_));
  if (unsaved_.mark.position != mark_.position || queue_.gone() == mark_.open) {
    sooner(std::max(save_at_, retry_at_));
  }
  if (!may_send) {
    if (!paused_) sooner(retry_at_);
    return next;
  }
  sooner(queue_.NextWake());
  if (more) sooner(now);
  if (CanFeedReplay()) sooner(replay_at_);
  next.on_commit = queue_.HasRoom();
  return next;
}

void SinkPump::TakeReports(Moment now) {
  std::vector<Report> reports;
  {
    const std::lock_guard lock(mutex_);
    reports.swap(reports_);
  }
  for (const Report& report : reports) {
    const auto sent = sent_.extract(report.batch);
    EVERSTEP_ASSERT(!sent.empty());
    std::vector<Outcome> outcomes;
    auto message = report.outcomes.begin();
    for (const std::size_t count : sent.mapped()) {
      outcomes.push_back(Worst(message, count));
      message += static_cast<std::ptrdiff_t>(count);
    }
    EVERSTEP_ASSERT(message == report.outcomes.end());
    queue_.Report(report.batch, outcomes, now, parts_.random);
  }
}

void SinkPump::Send(const DeliveryQueue::Batch& batch) {
  std::vector<Message> messages;
  std::vector<std::size_t>& counts = sent_[batch.id];
  for (const QueuedEvent* event : batch.events) {
    counts.push_back(event->messages.size());
    messages.insert(messages.end(), event->messages.begin(), event->messages.end());
  }
  parts_.sink.Deliver(std::move(messages), [this, id = batch.id](std::vector<Outcome> outcomes) {
    {
      const std::lock_guard lock(mutex_);
      reports_.push_back({id, std::move(outcomes)});
    }
    parts_.wake();
  });
}

// Adds what the queue has settled to the next write.
void SinkPump::Gather() {
  DeliveryQueue::Settled settled = queue_.TakeSettled();
  unsaved_.mark.position = settled.position;
  const Timestamp now = parts_.clock.Now();
  for (DeadLetter& letter : settled.died) {
    letter.died_at = now;
    if (replayed_runs_.contains(letter.run_id.value())) failed_runs_.insert(letter.run_id.value());
    unsaved_.died.push_back(std::move(letter));
  }
  std::ranges::move(settled.gone, std::back_inserter(unsaved_.gone));
}

Status SinkPump::Save() {
  Gather();
  const bool letters = !unsaved_.died.empty() || !unsaved_.gone.empty();
  unsaved_.mark.open = !queue_.gone();
  if (!letters && unsaved_.mark.position == mark_.position && unsaved_.mark.open == mark_.open) {
    return Ok();
  }
  const Status saved = parts_.committer.CarryOut(StoreOrder(unsaved_));
  store_fault_ = saved ? "" : saved.error().message;
  if (!saved) return saved;
  const auto blamed = std::ranges::find_if(
      unsaved_.died, [](const DeadLetter& letter) { return letter.attempts > 0; });
  if (blamed != unsaved_.died.end()) Raise(unsaved_.died.size(), *blamed);
  if (mark_.open && !unsaved_.mark.open && parts_.on_alert) {
    parts_.on_alert({"SINK_DISABLED", "P2", "",
                     "the receiver of sink " + mark_.key.name +
                         " wants no more events: " + queue_.last_failure(),
                     mark_.key.tenant_id, mark_.key.tenant_id.empty()});
  }
  mark_ = unsaved_.mark;
  unsaved_.died.clear();
  unsaved_.gone.clear();
  if (letters) {
    ReadLetterCount();
  } else {
    CountLettersLeft();
  }
  return Ok();
}

// After a write that changed the dead letters, which the store counts.
void SinkPump::ReadLetterCount() {
  const auto kept = parts_.store.Read()->FindSink(mark_.key);
  if (kept && *kept) mark_.dead_letters = (*kept)->dead_letters;
  CountLettersLeft();
}

void SinkPump::CountLettersLeft() {
  const std::uint64_t most = definition_.delivery.dead_letters;
  queue_.SetLettersLeft(most - std::min(most, mark_.dead_letters));
}

void SinkPump::Raise(std::size_t died, const DeadLetter& first) const {
  if (!parts_.on_alert) return;
  const std::string others =
      died > 1 ? " and " + std::to_string(died - 1) + " more" : std::string();
  parts_.on_alert({"EVENT_BUS_DELIVERY_FAILED", "P1", first.run_id.value(),
                   "sink " + mark_.key.name + " did not take event " +
                       std::to_string(first.seq.value()) + others + ": " + first.reason,
                   mark_.key.tenant_id, mark_.key.tenant_id.empty()});
}

// Returns true if there may be more to read.
bool SinkPump::ReadOn() {
  for (std::size_t page = 0; page < kPagesPerTurn; ++page) {
    if (!queue_.HasRoom()) return false;
    if (!ReadPage()) return false;
    if (!unsaved_.died.empty()) return true;  // write them first: later events depend on them
  }
  return queue_.HasRoom();
}

// Closes the read view before it renders messages: a view must be short-lived, and storing a large
// payload is a write.
bool SinkPump::ReadPage() {
  // Taken before the view: what lies up to `end` and is missing from the view belongs to removed
  // runs.
  const Position end = parts_.store.LastPosition();
  if (queue_.read_up_to() >= end) return false;
  auto reader = parts_.store.Read();
  const auto entries = reader->ReadOutbox(queue_.read_up_to(), kEntriesAtOnce);
  if (!entries) {
    store_fault_ = entries.error().message;
    return false;
  }
  std::vector<Change> changes;
  changes.reserve(entries->size());
  held_.clear();
  for (const OutboxEntry& entry : *entries) changes.push_back(ReadChange(*reader, entry));
  reader.reset();
  for (const Change& change : changes) {
    Add(change);
    queue_.ReadUpTo(change.entry.position);
  }
  if (entries->empty()) queue_.ReadUpTo(end);
  return !entries->empty();
}

SinkPump::Change SinkPump::ReadChange(StateReader& reader, const OutboxEntry& entry) {
  Change change{entry, {}, {}, IsHeld(reader, entry.run_id), {}};
  const auto run = reader.FindRun(entry.run_id);
  if (!run) change.fault = run.error().message;
  if (!run || !*run) return change;  // the run was removed
  change.run = **run;
  EventQuery query;
  query.after = EventSeq(entry.first_seq.value() - 1);
  query.until = entry.last_seq;
  query.limit = entry.last_seq.value() - entry.first_seq.value() + 1;
  query.bytes_max = SIZE_MAX;  // one append wrote all of it
  auto events = reader.ReadEvents(**run, query);
  if (!events) change.fault = events.error().message;
  if (events) change.events = *std::move(events);
  return change;
}

void SinkPump::Add(const Change& change) {
  QueuedEvent queued;
  queued.position = change.entry.position;
  const auto put = [&] {
    if (change.held) {
      unsaved_.died.push_back({queued.run_id, queued.seq, queued.type, queued.persisted_at,
                               parts_.clock.Now(), 0,
                               "held: an earlier event of its run is a dead letter"});
    } else {
      queue_.Add(queued);
    }
  };
  for (const Event& event : change.events) {
    if (renderer_.Render(change.run, event, queued)) put();
  }
  if (change.fault.empty()) return;
  queued.run_id = change.entry.run_id;
  queued.persisted_at = change.entry.committed_at;
  queued.fault = "cannot read the event: " + change.fault;
  const EventSeq last = change.entry.last_seq;
  for (queued.seq = change.entry.first_seq; queued.seq <= last;
       queued.seq = everstep::Next(queued.seq)) {
    put();
  }
}

// Returns whether an earlier event of the run is a dead letter for which later ones must wait.
bool SinkPump::IsHeld(StateReader& reader, const RunId& run_id) {
  if (!holds() || mark_.dead_letters == 0) return false;
  const auto [place, fresh] = held_.try_emplace(run_id.value(), false);
  if (!fresh) return place->second;
  const auto letters = reader.ListDeadLetters({.sink = mark_.key, .run_id = run_id, .limit = 1});
  place->second = letters && !letters->empty();
  return place->second;
}

SinkProgress SinkPump::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

void SinkPump::Publish() {
  const std::lock_guard lock(mutex_);
  // Don't report a position past dead letters that are not yet written.
  progress_.position = unsaved_.died.empty() ? queue_.position() : mark_.position;
  progress_.dead_letters = mark_.dead_letters;
  progress_.waiting = queue_.waiting();
  progress_.in_flight = queue_.in_flight();
  progress_.delivered = queue_.delivered();
  progress_.failures = queue_.failures();
  progress_.replaying = replay_.letters.size() - replay_next_ + queue_.letters_waiting();
  progress_.failing = queue_.failing() || !store_fault_.empty();
  progress_.stalled = queue_.stalled();
  progress_.gone = queue_.gone();
  progress_.last_failure = store_fault_.empty() ? queue_.last_failure() : store_fault_;
}

}  // namespace everstep
