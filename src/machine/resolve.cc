#include <algorithm>

#include "base/assert.h"
#include "event/catalogue.h"
#include "machine/lifecycle.h"
#include "machine/machine.h"

namespace everstep {
namespace {

bool BeginsAttempt(EventType type) {
  return type == EventType::kStepScheduled || type == EventType::kStepStarted;
}

// Returns true if the writer requests that an ended step runs again.
bool AsksToRevisit(const EventWrite& write) { return write.revisit && BeginsAttempt(write.type); }

bool HasSucceeded(const EntityState& step) {
  return step.status == EntityStatus::kSuccess || step.status == EntityStatus::kSkipped;
}

bool OpensNextAttempt(const EntityState& step, const EventWrite& write) {
  if (HasSucceeded(step)) return AsksToRevisit(write);
  if (step.status != EntityStatus::kFailed) return false;
  const bool retries = BeginsAttempt(write.type) || write.type == EventType::kStepSkipped;
  return (step.will_retry && retries) || AsksToRevisit(write);
}

std::uint32_t LogicalAttempt(const RunState& run, const EntityState& entity,
                             const EventWrite& write) {
  if (write.logical_attempt != 0) return write.logical_attempt;
  switch (SpecOf(write.type).entity) {
    case EntityKind::kRun:
      if (write.type == EventType::kRunPaused) return run.pause_epoch + 1;
      if (write.type == EventType::kRunResumed) return std::max(1u, run.pause_epoch);
      return CancelsAgain(run, write.type, write.facts) ? NextPlace(run) : 1;
    case EntityKind::kStep:
      if (OpensNextAttempt(entity, write)) return entity.logical_attempt + 1;
      return std::max(1u, entity.logical_attempt);
    default:
      return std::max(1u, entity.logical_attempt);
  }
}

// A running step starts again if it was redelivered after a crash or a lost lease.
bool StartsAgain(const EntityState& entity, const EventWrite& write) {
  return write.type == EventType::kStepStarted && entity.status == EntityStatus::kRunning;
}

std::uint32_t EngineAttempt(const RunState& run, const EntityState& entity,
                            const EventWrite& write) {
  if (write.engine_attempt != 0) return write.engine_attempt;
  if (StartsAgain(entity, write)) return entity.engine_attempt + 1;
  const bool of_run = SpecOf(write.type).entity == EntityKind::kRun;
  return std::max(1u, of_run ? run.engine_attempt : entity.engine_attempt);
}

std::string Instance(const EntityState& entity, const EventWrite& write,
                     const std::string& event_id) {
  if (!write.instance_id.empty()) return write.instance_id;
  if (SpecOf(write.type).repeats) return write.entity_id + "/" + event_id;
  // If the writer specifies the attempt, the contract's key applies and a second start is a
  // duplicate.
  if (StartsAgain(entity, write) && write.logical_attempt == 0) {
    return write.entity_id + "#" + std::to_string(entity.starts + 1);
  }
  return {};
}

}  // namespace

Event Resolve(const RunState& run, const EntityState& entity, const EventWrite& write,
              std::string fallback_id) {
  EVERSTEP_ASSERT(IsKnown(write.type));
  Event event;
  event.type = write.type;
  event.event_id = write.event_id;
  if (event.event_id.empty()) event.event_id = std::move(fallback_id);
  event.entity_id = write.entity_id;
  event.instance_id = Instance(entity, write, event.event_id);
  event.parent_id = write.parent_id;
  event.logical_attempt = LogicalAttempt(run, entity, write);
  event.engine_attempt = EngineAttempt(run, entity, write);
  event.emitted_at = write.emitted_at;
  event.emitted_by = write.emitted_by;
  event.facts = write.facts;
  event.facts.revisit = AsksToRevisit(write) && HasSucceeded(entity) &&
                        event.logical_attempt == entity.logical_attempt + 1;
  event.payload = write.payload;
  event.attributes = write.attributes;
  return event;
}

}  // namespace everstep
