#include "testing/reference_rules.h"

#include <algorithm>
#include <map>

#include "event/catalogue.h"

namespace everstep::reference {
namespace {

using enum EventType;
using Refusal = std::optional<ErrorCode>;

template <typename T>
bool OneOf(T value, std::initializer_list<T> set) {
  return std::find(set.begin(), set.end(), value) != set.end();
}

bool IsEnd(EventType type) { return OneOf(type, {kRunCompleted, kRunFailed, kRunCancelled}); }
bool IsUnstarted(const Run& run) {
  return OneOf(run.status, {RunStatus::kPending, RunStatus::kApproved});
}
bool HasSucceeded(const Thing& step) {
  return OneOf(step.status, {EntityStatus::kSuccess, EntityStatus::kSkipped});
}
bool BeginsAttempt(EventType type) { return OneOf(type, {kStepScheduled, kStepStarted}); }
bool IsRecord(EventType type) { return OneOf(type, {kNextEvaluated, kContextUpdated}); }
bool IsOpening(EventType type) {
  return OneOf(type, {kToolStarted, kLoopStarted, kLoopIterationStarted, kCaseStarted,
                      kRetryStarted, kSinkStarted});
}

bool CancelsAgain(const Run& run, EventType type, const EventFacts& facts) {
  return type == kRunCancelled && facts.late && run.status == RunStatus::kCancelled;
}
std::uint32_t NextPlace(const Run& run) {
  return static_cast<std::uint32_t>(run.events.size() + 1);
}

std::uint32_t AttemptOf(const Run& run, const Thing& thing, const EventWrite& write) {
  if (write.logical_attempt != 0) return write.logical_attempt;
  if (write.type == kRunPaused) return run.pauses + 1;
  if (CancelsAgain(run, write.type, write.facts)) return NextPlace(run);
  if (write.type == kRunResumed) return std::max(1U, run.pauses);
  const bool again = write.revisit && BeginsAttempt(write.type);
  const bool retries = BeginsAttempt(write.type) || write.type == kStepSkipped;
  if (thing.status == EntityStatus::kFailed && (again || (thing.will_retry && retries))) {
    return thing.attempt + 1;
  }
  if (HasSucceeded(thing) && again) return thing.attempt + 1;
  return std::max(1U, thing.attempt);
}

Refusal JudgeRun(const Run& run, const Event& event) {
  const bool starts = OneOf(event.type, {kRunQueued, kRunApproved, kRunStarted});
  if (run.status == RunStatus::kAbsent) {
    return starts ? Refusal() : Refusal(ErrorCode::kRunNotFound);
  }
  const bool again = CancelsAgain(run, event.type, event.facts);
  if (again && event.logical_attempt == NextPlace(run)) return {};
  if (HasEnded(run)) return ErrorCode::kRunTerminal;
  const auto legal = [](bool is) { return is ? Refusal() : ErrorCode::kInvalidTransition; };
  switch (event.type) {
    case kRunQueued:
      return ErrorCode::kRunAlreadyExists;
    case kRunApproved:
      return legal(run.status == RunStatus::kPending);
    case kRunStarted:
      return legal(IsUnstarted(run));
    case kRunPaused:
      return legal(run.status == RunStatus::kRunning && event.logical_attempt == run.pauses + 1);
    case kRunResumed:
      return legal(run.status == RunStatus::kPaused && event.logical_attempt == run.pauses);
    case kRunCompleted:
      if (run.status == RunStatus::kPaused) return ErrorCode::kRunPaused;
      return IsUnstarted(run) ? Refusal(ErrorCode::kRunNotStarted) : Refusal();
    default:
      return {};
  }
}

Refusal JudgeStep(const Run& run, const Thing& step, const Event& event) {
  if (IsUnstarted(run) && OneOf(event.type, {kStepStarted, kStepCompleted, kStepFailed})) {
    return ErrorCode::kRunNotStarted;
  }
  const bool absent = step.status == EntityStatus::kAbsent;
  const bool failed = step.status == EntityStatus::kFailed;
  const bool begins = OneOf(event.type, {kStepScheduled, kStepDelayed}) ||
                      (event.type == kStepStarted && (absent || failed || event.facts.revisit));
  if (run.status == RunStatus::kPaused && begins) return ErrorCode::kRunPaused;
  if (absent) {
    const bool ends = OneOf(event.type, {kStepCompleted, kStepFailed});
    return ends ? Refusal(ErrorCode::kStepNotFound) : Refusal();
  }
  if (event.logical_attempt < step.attempt) return ErrorCode::kStepAttemptStale;
  const bool same = event.logical_attempt == step.attempt;
  const bool next = event.logical_attempt == step.attempt + 1;
  if (HasSucceeded(step)) {
    return next && event.facts.revisit ? Refusal() : Refusal(ErrorCode::kStepTerminal);
  }
  bool legal = false;
  if (failed) {
    if (same) return ErrorCode::kStepTerminal;
    legal = next && OneOf(event.type, {kStepScheduled, kStepStarted, kStepSkipped});
  } else if (step.status == EntityStatus::kPending) {
    legal = same && event.type != kStepScheduled;
  } else {
    legal = same && OneOf(event.type, {kStepStarted, kStepCompleted, kStepFailed});
  }
  return legal ? Refusal() : Refusal(ErrorCode::kInvalidTransition);
}

// Hooks, waits and child runs: created once, then active, then over.
struct Span {
  EntityStatus active;
  ErrorCode missing;
  ErrorCode over;
};
Refusal JudgeSpan(const Span& span, const Thing& thing, bool creates) {
  if (thing.status == EntityStatus::kAbsent) return creates ? Refusal() : Refusal(span.missing);
  if (thing.status != span.active) return span.over;
  return creates ? Refusal(ErrorCode::kInvalidTransition) : Refusal();
}

Refusal JudgeError(const Thing& error, const Event& event) {
  if (event.type == kErrorRecorded || error.status == EntityStatus::kOpen) return {};
  const bool resolves = event.type == kErrorResolved;
  if (resolves && error.status == EntityStatus::kUnrecoverable) return {};
  return ErrorCode::kErrorNotOpen;
}

bool MayFollowTheEnd(const Thing& thing, const Event& event) {
  const bool late = event.facts.late && thing.status != EntityStatus::kAbsent;
  if (late && OneOf(event.type, {kStepScheduled, kStepStarted, kStepCompleted, kStepFailed})) {
    return true;
  }
  if (OneOf(event.type, {kStepCompleted, kStepFailed, kChildFinished})) {
    return thing.status == EntityStatus::kRunning;
  }
  if (event.type == kSignalAccepted) return event.facts.escalation;
  if (event.type == kSignalRejected || SpecOf(event.type).entity == EntityKind::kError) return true;
  return OneOf(event.type, {kToolProcessed, kLoopIterationFinished, kLoopFinished, kCaseEvaluated,
                            kRetryProcessed, kSinkProcessed}) &&
         thing.status == EntityStatus::kOpen;
}

void ApplyToRun(Run& run, const Event& event) {
  static const std::map<EventType, RunStatus> kStatusAfter = {
      {kRunQueued, RunStatus::kPending},  {kRunApproved, RunStatus::kApproved},
      {kRunStarted, RunStatus::kRunning}, {kRunPaused, RunStatus::kPaused},
      {kRunResumed, RunStatus::kRunning}, {kRunCompleted, RunStatus::kCompleted},
      {kRunFailed, RunStatus::kFailed},   {kRunCancelled, RunStatus::kCancelled},
  };
  run.status = kStatusAfter.at(event.type);
  if (event.type == kRunStarted) run.engine_attempt = event.engine_attempt;
  if (event.type == kRunPaused) ++run.pauses;
  if (!IsEnd(event.type)) return;
  for (auto& [key, thing] : run.things) {
    if (key.kind == EntityKind::kHook && thing.status == EntityStatus::kActive) {
      thing.status = EntityStatus::kDisposed;
    }
    if (key.kind == EntityKind::kWait && thing.status == EntityStatus::kWaiting) {
      thing.status = EntityStatus::kCancelled;
    }
  }
}

EntityStatus StatusAfter(const Thing& thing, const Event& event) {
  static const std::map<EventType, EntityStatus> kStatusAfter = {
      {kStepScheduled, EntityStatus::kPending},
      {kStepDelayed, EntityStatus::kPending},
      {kStepStarted, EntityStatus::kRunning},
      {kStepCompleted, EntityStatus::kSuccess},
      {kStepFailed, EntityStatus::kFailed},
      {kStepSkipped, EntityStatus::kSkipped},
      {kHookCreated, EntityStatus::kActive},
      {kHookConflict, EntityStatus::kConflicted},
      {kHookReceived, EntityStatus::kActive},
      {kHookDisposed, EntityStatus::kDisposed},
      {kWaitCreated, EntityStatus::kWaiting},
      {kWaitCompleted, EntityStatus::kElapsed},
      {kSignalAccepted, EntityStatus::kAccepted},
      {kSignalRejected, EntityStatus::kRejected},
      {kErrorRecorded, EntityStatus::kOpen},
      {kErrorResolved, EntityStatus::kClosed},
      {kErrorUnrecoverable, EntityStatus::kUnrecoverable},
      {kChildStarted, EntityStatus::kRunning},
      {kChildFinished, EntityStatus::kClosed},
  };
  const auto known = kStatusAfter.find(event.type);
  if (known != kStatusAfter.end()) return known->second;
  return thing.starts > 0 && !IsRecord(event.type) ? EntityStatus::kOpen : EntityStatus::kClosed;
}

void ApplyToThing(Thing& thing, const Event& event) {
  const EntityKind kind = SpecOf(event.type).entity;
  const bool is_step = kind == EntityKind::kStep;
  if (!is_step || event.logical_attempt != thing.attempt) {
    thing.engine_attempt = event.engine_attempt;
    thing.will_retry = false;
  }
  thing.attempt = event.logical_attempt;
  thing.engine_attempt = std::max(thing.engine_attempt, event.engine_attempt);
  if (event.type == kStepStarted || IsOpening(event.type)) ++thing.starts;
  const bool closes = kind >= EntityKind::kTool && kind <= EntityKind::kContext &&
                      !IsOpening(event.type) && !IsRecord(event.type);
  if (closes && thing.starts > 0) --thing.starts;
  if (event.type == kStepFailed) thing.will_retry = event.facts.will_retry;
  if (OneOf(event.type, {kHookCreated, kHookConflict})) thing.token = event.facts.token;
  thing.status = StatusAfter(thing, event);
}

}  // namespace

bool HasEnded(const Run& run) {
  return OneOf(run.status, {RunStatus::kCompleted, RunStatus::kFailed, RunStatus::kCancelled});
}

Event EventOf(const Run& run, const Thing& thing, const EventWrite& write) {
  const bool restart = write.type == kStepStarted && thing.status == EntityStatus::kRunning;
  Event event;
  event.type = write.type;
  event.event_id = write.event_id;
  event.entity_id = write.entity_id;
  event.parent_id = write.parent_id;
  event.emitted_by = write.emitted_by;
  event.payload = write.payload;
  event.facts = write.facts;
  event.logical_attempt = AttemptOf(run, thing, write);
  const std::uint32_t now =
      SpecOf(write.type).entity == EntityKind::kRun ? run.engine_attempt : thing.engine_attempt;
  event.engine_attempt = std::max(1U, restart ? now + 1 : now);
  if (write.engine_attempt != 0) event.engine_attempt = write.engine_attempt;
  event.facts.revisit = write.revisit && BeginsAttempt(write.type) && HasSucceeded(thing) &&
                        event.logical_attempt == thing.attempt + 1;
  if (!write.instance_id.empty()) {
    event.instance_id = write.instance_id;
  } else if (SpecOf(write.type).repeats) {
    event.instance_id = write.entity_id + "/" + write.event_id;
  } else if (restart && write.logical_attempt == 0) {
    event.instance_id = write.entity_id + "#" + std::to_string(thing.starts + 1);
  }
  return event;
}

Refusal Judge(const Run& run, const Thing& thing, const Event& event) {
  const EntityKind kind = SpecOf(event.type).entity;
  if (kind == EntityKind::kRun) return JudgeRun(run, event);
  if (run.status == RunStatus::kAbsent) return ErrorCode::kRunNotFound;
  if (HasEnded(run) && !MayFollowTheEnd(thing, event)) return ErrorCode::kRunTerminal;
  switch (kind) {
    case EntityKind::kStep:
      return JudgeStep(run, thing, event);
    case EntityKind::kHook:
      return JudgeSpan({EntityStatus::kActive, ErrorCode::kHookNotFound, ErrorCode::kHookTerminal},
                       thing, event.type == kHookCreated);
    case EntityKind::kWait:
      return JudgeSpan({EntityStatus::kWaiting, ErrorCode::kWaitNotFound, ErrorCode::kWaitTerminal},
                       thing, event.type == kWaitCreated);
    case EntityKind::kChild:
      return JudgeSpan(
          {EntityStatus::kRunning, ErrorCode::kChildNotFound, ErrorCode::kChildTerminal}, thing,
          event.type == kChildStarted);
    case EntityKind::kSignal:
      return thing.status == EntityStatus::kAbsent ? Refusal()
                                                   : Refusal(ErrorCode::kSignalDuplicate);
    case EntityKind::kError:
      return JudgeError(thing, event);
    default:
      return IsUnstarted(run) ? Refusal(ErrorCode::kRunNotStarted) : Refusal();
  }
}

void Apply(Run& run, const Event& event) {
  const EntityKind kind = SpecOf(event.type).entity;
  if (kind == EntityKind::kRun) {
    ApplyToRun(run, event);
  } else {
    ApplyToThing(run.things[{kind, event.entity_id}], event);
  }
}

}  // namespace everstep::reference
