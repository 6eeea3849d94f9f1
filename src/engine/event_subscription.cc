#include "engine/event_subscription.h"

#include "base/assert.h"
#include "engine/event_view.h"
#include "engine/projector.h"

namespace everstep {

EventSubscription::EventSubscription(StateStore& store, CommitFeed& feed, Clock& clock, From from)
    : store_(store),
      clock_(clock),
      run_id_(std::move(from.run_id)),
      dialect_(from.dialect),
      after_(from.after),
      watch_(feed, run_id_.value()) {}

Result<ProjectionLag> EventSubscription::Lag() {
  const auto reader = store_.Read();
  if (run_id_.value().empty()) {
    const auto next = reader->ReadOutbox(Position(after_), 1);
    if (!next) return next.error();
    const Timestamp oldest = next->empty() ? Timestamp{} : next->front().committed_at;
    const EventSeq end(next->empty() ? after_ : store_.LastPosition().value());
    return LagOf("", EventSeq(after_), end, oldest, clock_.Now());
  }
  auto run = RequireRun(*reader, run_id_);
  if (!run) return std::move(run).error();
  EventQuery query;
  query.after = EventSeq(after_);
  query.limit = 1;
  const auto next = reader->ReadEvents(*run, query);
  if (!next) return next.error();
  const Timestamp oldest = next->empty() ? Timestamp{} : next->front().persisted_at;
  return LagOf(run_id_.value(), EventSeq(after_), run->state.last_seq, oldest, clock_.Now());
}

Result<std::vector<LogEvent>> EventSubscription::Next(std::size_t limit,
                                                      std::chrono::milliseconds wait) {
  while (true) {
    // Take ticks before reading, so that a write between the two is not missed.
    const std::uint64_t seen = watch_.ticks();
    const std::uint64_t before = after_;
    auto events = ReadOn(limit);
    if (!events || !events->empty()) return events;
    if (after_ != before) continue;  // events were read, but none can be expressed in this dialect
    if (!watch_.WaitPast(seen, wait)) return std::vector<LogEvent>();
  }
}

Result<std::vector<LogEvent>> EventSubscription::ReadOn(std::size_t limit) {
  const auto reader = store_.Read();
  if (run_id_.value().empty()) {
    Position position(after_);
    auto events = ReadAlongOutbox(*reader, "", dialect_, limit, position);
    EVERSTEP_ASSERT(position.value() >= after_);
    after_ = position.value();
    return events;
  }
  auto run = RequireRun(*reader, run_id_);
  if (!run) return std::move(run).error();
  EventQuery query;
  query.after = EventSeq(after_);
  query.limit = limit;
  auto events = reader->ReadEvents(*run, query);
  if (!events) return std::move(events).error();
  std::vector<LogEvent> views;
  for (const Event& event : *events) AddViews(dialect_, *run, event, views);
  if (!events->empty()) after_ = events->back().seq.value();
  return views;
}

}  // namespace everstep
