#include "machine/lifecycle.h"

// Tool, loop, iteration, case, next, retry, sink, context: what a step did on its way. The log
// keeps it for people and for views; nothing is decided by it, so an order of any shape is
// accepted.

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
