#include "engine/projector.h"

#include "base/assert.h"
#include "engine/run_snapshot.h"
#include "event/catalogue.h"

namespace everstep {
namespace {

constexpr std::chrono::seconds kLagHigh{5};

std::string Describe(const Event& event) {
  return std::string(SpecOf(event.type).name) + " " + event.event_id + " at runSeq " +
         std::to_string(event.seq.value());
}

}  // namespace

bool DetectNonContiguous(EventSeq last, EventSeq next) { return next != Next(last); }

void Projection::Apply(const Event& event) {
  const RunStatus before = fold_.run().status;
  const RunFold::Applied applied = fold_.Apply(event);
  EVERSTEP_ASSERT(watermark() >= event.seq);
  if (applied != RunFold::Applied::kInvalid) return;
  alerts_.push_back(
      {"INVALID_TRANSITION", "P2", run_.run_id.value(),
       Describe(event) + " is not valid in state " + std::string(Name(before)) + "; ignored"});
}

RunSnapshot Projection::Snapshot() const {
  SnapshotBuilder builder(run_.run_id, fold_.run());
  for (const auto& [key, state] : fold_.entities()) {
    if (key.kind == EntityKind::kStep) builder.AddStep(key.id, state);
  }
  return builder.Build();
}

Projection ProjectRun(const RunIdentity& run, std::span<const Event> events) {
  Projection projection(run);
  for (const Event& event : events) projection.Apply(event);
  return projection;
}

Projection IncrementalProject(const Projection& projection, std::span<const Event> events) {
  Projection next = projection;
  if (next.stale_) return next;
  for (const Event& event : events) {
    if (event.seq <= next.watermark()) continue;
    if (DetectNonContiguous(next.watermark(), event.seq)) {
      next.stale_ = true;
      next.alerts_.push_back({"PROJECTOR_NON_CONTIGUOUS_FETCH_DETECTED", "P2",
                              next.run_.run_id.value(),
                              "runSeq " + std::to_string(event.seq.value()) + " followed " +
                                  std::to_string(next.watermark().value())});
      return next;
    }
    next.Apply(event);
    EVERSTEP_ASSERT(next.watermark() == event.seq);
  }
  return next;
}

Projection Resync(const Projection& stale, const Projection& base, std::span<const Event> delta) {
  Projection next = base;
  next.stale_ = false;
  next.alerts_ = stale.alerts_;
  for (const Event& event : delta) next.Apply(event);
  if (next.watermark() <= stale.watermark()) return stale;
  return next;
}

ProjectionLag LagOf(std::string_view run_id, EventSeq watermark, EventSeq log_end,
                    Timestamp oldest_unapplied, Timestamp now) {
  ProjectionLag lag;
  if (log_end <= watermark) return lag;
  lag.events = log_end.value() - watermark.value();
  if (now > oldest_unapplied) {
    lag.time = std::chrono::floor<std::chrono::milliseconds>(now - oldest_unapplied);
  }
  if (lag.time > kLagHigh) {
    lag.alert = Alert{"PROJECTOR_LAG_HIGH", "P2", std::string(run_id),
                      std::to_string(lag.events) + " unread, the oldest for " +
                          std::to_string(lag.time.count()) + " ms"};
  }
  return lag;
}

}  // namespace everstep
