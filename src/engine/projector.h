#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "event/dialect.h"
#include "event/event.h"
#include "everstep/log.h"
#include "everstep/snapshot.h"
#include "machine/run_fold.h"

namespace everstep {

// A run's state as of a watermark. Immutable: projecting further events creates a new Projection.
class Projection {
 public:
  explicit Projection(RunIdentity run)
      : run_(std::move(run)), fold_(run_.scope, run_.key_version) {}

  RunSnapshot Snapshot() const;
  EventSeq watermark() const { return fold_.run().last_seq; }
  // True after a non-contiguous fetch: no events are applied until Resync advances the watermark.
  bool stale() const { return stale_; }
  // PROJECTOR_NON_CONTIGUOUS_FETCH_DETECTED (P2), and INVALID_TRANSITION (P2) for each stored event
  // that the rules do not allow and that was ignored. Each is reported once.
  const std::vector<Alert>& alerts() const { return alerts_; }
  const RunFold& fold() const { return fold_; }

 private:
  friend Projection ProjectRun(const RunIdentity& run, std::span<const Event> events);
  friend Projection IncrementalProject(const Projection& projection, std::span<const Event> events);
  friend Projection Resync(const Projection& stale, const Projection& base,
                           std::span<const Event> delta);
  void Apply(const Event& event);

  RunIdentity run_;
  RunFold fold_;
  bool stale_ = false;
  std::vector<Alert> alerts_;
};

// Returns true if `next` does not directly follow `last`. A gap is not necessarily a loss: other
// stores leave gaps.
bool DetectNonContiguous(EventSeq last, EventSeq next);

// Folds a whole log. Accepts gaps, because there is no more complete source.
Projection ProjectRun(const RunIdentity& run, std::span<const Event> events);

// Applies new events. Skips events at or below the watermark; stops at a gap and becomes stale.
Projection IncrementalProject(const Projection& projection, std::span<const Event> events);

// Ends staleness: FULL with an empty `base` and the whole log as `delta`, FROM_SNAPSHOT with an
// earlier projection and the events after it. Returns `stale` unless the watermark advances past
// that of `stale`.
Projection Resync(const Projection& stale, const Projection& base, std::span<const Event> delta);

// How far a projection of `run_id` lags behind its log.
ProjectionLag LagOf(std::string_view run_id, EventSeq watermark, EventSeq log_end,
                    Timestamp oldest_unapplied, Timestamp now);

}  // namespace everstep
