#include "machine/machine.h"

#include "event/catalogue.h"
#include "machine/lifecycle.h"

namespace everstep {
namespace {

// Returns true for events that are allowed after the end of a run: work in flight may finish,
// rejected signals may be recorded, and errors may be recorded and resolved.
bool MayFollowRunEnd(const EntityState& entity, const Event& event) {
  const bool late = event.facts.late && entity.status != EntityStatus::kAbsent;
  switch (event.type) {
    case EventType::kStepScheduled:
    case EventType::kStepStarted:
      return late;
    case EventType::kStepCompleted:
    case EventType::kStepFailed:
      return late || entity.status == EntityStatus::kRunning;
    case EventType::kChildFinished:
      return entity.status == EntityStatus::kRunning;
    case EventType::kToolProcessed:
    case EventType::kLoopIterationFinished:
    case EventType::kLoopFinished:
    case EventType::kCaseEvaluated:
    case EventType::kRetryProcessed:
    case EventType::kSinkProcessed:
      return entity.status == EntityStatus::kOpen;
    case EventType::kSignalAccepted:
      return event.facts.escalation;
    case EventType::kSignalRejected:
    case EventType::kErrorRecorded:
    case EventType::kErrorResolved:
    case EventType::kErrorUnrecoverable:
      return true;
    default:
      return false;
  }
}

Verdict PassRunGate(const RunState& run, const EntityState& entity, const Event& event) {
  if (run.status == RunStatus::kAbsent) {
    return RefuseAbsentRun(event);
  }
  if (IsTerminal(run.status) && !MayFollowRunEnd(entity, event)) {
    return Refuse(ErrorCode::kRunTerminal, event,
                  {"the run is ", Name(run.status), " and the entity is ", Name(entity.status),
                   "; after the end of a run only work in flight may finish."});
  }
  return kPass;
}

Verdict JudgeEntity(const RunState& run, const EntityState& entity, const Event& event) {
  switch (SpecOf(event.type).entity) {
    case EntityKind::kStep:
      return JudgeStep(run, entity, event);
    case EntityKind::kHook:
      return JudgeHook(entity, event);
    case EntityKind::kWait:
      return JudgeWait(entity, event);
    case EntityKind::kSignal:
      return JudgeSignal(entity, event);
    case EntityKind::kError:
      return JudgeError(entity, event);
    case EntityKind::kChild:
      return JudgeChild(entity, event);
    default:
      return JudgeBookkeeping(run, event);
  }
}

void EvolveEntity(RunState& run, EntityState& entity, const Event& event, EntityKind kind) {
  switch (kind) {
    case EntityKind::kStep:
      return EvolveStep(run, entity, event);
    case EntityKind::kHook:
      return EvolveHook(run, entity, event);
    case EntityKind::kWait:
      return EvolveWait(run, entity, event);
    case EntityKind::kSignal:
      return EvolveSignal(entity, event);
    case EntityKind::kError:
      return EvolveError(run, entity, event);
    case EntityKind::kChild:
      return EvolveChild(entity, event);
    default:
      return EvolveBookkeeping(entity, event);
  }
}

}  // namespace

std::string Subject(const Event& event) {
  std::string subject(SpecOf(event.type).name);
  if (!event.entity_id.empty()) subject.append(" of '").append(event.entity_id).append("'");
  subject.append(" (attempt ").append(std::to_string(event.logical_attempt)).append(")");
  return subject;
}

Rejection Refuse(ErrorCode code, const Event& event,
                 std::initializer_list<std::string_view> parts) {
  std::string message = Subject(event).append(": ");
  for (const std::string_view part : parts) message.append(part);
  return Rejection{code, std::move(message)};
}

Rejection RefuseAbsentRun(const Event& event) {
  return Refuse(
      ErrorCode::kRunNotFound, event,
      {"the run does not exist; its first event must be RunQueued, RunApproved or RunStarted."});
}

Verdict RequireStarted(const RunState& run, const Event& event) {
  if (run.status != RunStatus::kPending && run.status != RunStatus::kApproved) return kPass;
  return Refuse(ErrorCode::kRunNotStarted, event,
                {"the run is ", Name(run.status), "; RunStarted must come first."});
}

std::optional<EntityKey> EntityOf(EventType type, std::string_view entity_id) {
  if (!IsKnown(type)) return std::nullopt;
  const EntityKind kind = SpecOf(type).entity;
  if (kind == EntityKind::kRun) return std::nullopt;
  return EntityKey{kind, std::string(entity_id)};
}

std::optional<Rejection> Judge(const RunState& run, const EntityState& entity, const Event& event) {
  if (!IsKnown(event.type)) return kPass;
  if (event.logical_attempt == 0 || event.engine_attempt == 0) {
    return Refuse(ErrorCode::kInvalidTransition, event,
                  {"the logical and the engine attempt must be at least 1."});
  }
  if (SpecOf(event.type).entity == EntityKind::kRun) return JudgeRun(run, event);
  if (Verdict refused = PassRunGate(run, entity, event)) return refused;
  return JudgeEntity(run, entity, event);
}

void Evolve(RunState& run, EntityState& entity, const Event& event) {
  run.last_seq = event.seq;
  run.updated_at = event.persisted_at;
  if (!IsKnown(event.type)) return;
  run.last_of_type[static_cast<std::size_t>(event.type)] = event.seq;

  const EntityKind kind = SpecOf(event.type).entity;
  if (kind == EntityKind::kRun) return EvolveRun(run, event);
  if (entity.occurrences == 0) entity.first_seq = event.seq;
  entity.last_seq = event.seq;
  ++entity.occurrences;
  if (!event.parent_id.empty()) entity.parent_id = event.parent_id;
  EvolveEntity(run, entity, event, kind);
  // EvolveStep sets the attempts of steps. Other entities have those of their last event.
  if (kind != EntityKind::kStep) {
    entity.logical_attempt = event.logical_attempt;
    entity.engine_attempt = event.engine_attempt;
  }
}

bool ReleaseAtRunEnd(RunState& run, EntityKind kind, EntityState& entity) {
  switch (kind) {
    case EntityKind::kHook:
      return ReleaseHook(run, entity);
    case EntityKind::kWait:
      return ReleaseWait(run, entity);
    default:
      return false;
  }
}

}  // namespace everstep
