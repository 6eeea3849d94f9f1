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

// A run's state as of a watermark. A value: projecting further gives another one.
class Projection {
 public:
  explicit Projection(RunIdentity run)
      : run_(std::move(run)), fold_(run_.scope, run_.key_version) {}

  RunSnapshot Snapshot() const;
  EventSeq watermark() const { return fold_.run().last_seq; }
  // A fetch was not contiguous: nothing is applied until a resync moves the watermark on.
  bool stale() const { return stale_; }
  // What was noticed on the way, each once: PROJECTOR_NON_CONTIGUOUS_FETCH_DETECTED (P2),
  // INVALID_TRANSITION (P2) for stored events that the rules refuse and that were ignored.
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

// True when `next` does not follow `last` directly. Not a loss by itself: foreign stores leave
// gaps.
bool DetectNonContiguous(EventSeq last, EventSeq next);

// Folds a whole log. Gaps are taken as they are: there is nothing more complete to ask for.
Projection ProjectRun(const RunIdentity& run, std::span<const Event> events);

// Folds what is new. Events at or below the watermark are skipped; at a gap it stops, stale.
Projection IncrementalProject(const Projection& projection, std::span<const Event> events);

// Ends staleness: FULL with an empty base and the whole log as delta, FROM_SNAPSHOT with an earlier
// projection and the events behind it. Stays stale unless the watermark moves past the stale one's.
Projection Resync(const Projection& stale, const Projection& base, std::span<const Event> delta);

// How far a projection of `run_id` is behind its log.
ProjectionLag LagOf(std::string_view run_id, EventSeq watermark, EventSeq log_end,
                    Timestamp oldest_unapplied, Timestamp now);

}  // namespace everstep
