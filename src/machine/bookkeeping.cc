#include "machine/lifecycle.h"

// Tool, loop, iteration, case, next, retry, sink and context events record what a step did. They
// are kept for people and for views. No decision depends on them, so they are accepted in any
// order.

namespace everstep {
namespace {

enum class Mark { kOpens, kCloses, kRecords };

Mark MarkOf(EventType type) {
  switch (type) {
    case EventType::kToolStarted:
    case EventType::kLoopStarted:
    case EventType::kLoopIterationStarted:
    case EventType::kCaseStarted:
    case EventType::kRetryStarted:
    case EventType::kSinkStarted:
      return Mark::kOpens;
    case EventType::kNextEvaluated:
    case EventType::kContextUpdated:
      return Mark::kRecords;
    default:
      return Mark::kCloses;
  }
}

}  // namespace

Verdict JudgeBookkeeping(const RunState& run, const Event& event) {
  return RequireStarted(run, event);
}

void EvolveBookkeeping(EntityState& entity, const Event& event) {
  const Mark mark = MarkOf(event.type);
  if (mark == Mark::kOpens) {
    ++entity.starts;
    MarkStarted(entity, event);
  } else if (mark == Mark::kCloses && entity.starts > 0) {
    --entity.starts;
  }
  if (mark != Mark::kRecords && entity.starts > 0) {
    entity.status = EntityStatus::kOpen;
  } else {
    entity.status = EntityStatus::kClosed;
    entity.completed_at = event.emitted_at;
  }
}

}  // namespace everstep
