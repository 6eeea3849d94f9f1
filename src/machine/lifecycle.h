#pragma once

// Private to machine/: the lifecycle of each kind of entity, and shared helpers. machine.cc checks
// the run first (PassRunGate) and then calls the lifecycle of the event's entity, so a lifecycle
// contains only rules of its own kind.

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "event/event.h"
#include "machine/machine.h"
#include "machine/state.h"

namespace everstep {

using Verdict = std::optional<Rejection>;
inline constexpr std::nullopt_t kPass = std::nullopt;

// "StepStarted of 's1' (attempt 2)", or "RunPaused (attempt 1)": the beginning of a message.
std::string Subject(const Event& event);
// Builds a rejection with the message "<subject>: <parts>".
Rejection Refuse(ErrorCode code, const Event& event, std::initializer_list<std::string_view> parts);
// kRunNotFound.
Rejection RefuseAbsentRun(const Event& event);
// Passes if the run has started; otherwise kRunNotStarted.
Verdict RequireStarted(const RunState& run, const Event& event);

// Returns true if the event cancels an already cancelled run, which the rules of some writers
// allow. The attempt of such an event is its position in the log, so it differs from earlier ones.
inline bool CancelsAgain(const RunState& run, EventType type, const EventFacts& facts) {
  return type == EventType::kRunCancelled && facts.late && run.status == RunStatus::kCancelled;
}
inline std::uint32_t NextPlace(const RunState& run) {
  return static_cast<std::uint32_t>(run.last_seq.value() + 1);
}

// Each Judge gets events of its own kind, for an existing run that has passed PassRunGate.
Verdict JudgeRun(const RunState& run, const Event& event);  // called without PassRunGate
Verdict JudgeStep(const RunState& run, const EntityState& step, const Event& event);
Verdict JudgeHook(const EntityState& hook, const Event& event);
Verdict JudgeWait(const EntityState& wait, const Event& event);
Verdict JudgeSignal(const EntityState& signal, const Event& event);
Verdict JudgeError(const EntityState& error, const Event& event);
Verdict JudgeChild(const EntityState& child, const Event& event);
Verdict JudgeBookkeeping(const RunState& run, const Event& event);

// Each Evolve updates the status, times, counts and other members of its own kind. machine.cc
// updates sequence numbers, occurrences and parent.
void EvolveRun(RunState& run, const Event& event);
void EvolveStep(RunState& run, EntityState& step, const Event& event);
void EvolveHook(RunState& run, EntityState& hook, const Event& event);
void EvolveWait(RunState& run, EntityState& wait, const Event& event);
void EvolveSignal(EntityState& signal, const Event& event);
void EvolveError(RunState& run, EntityState& error, const Event& event);
void EvolveChild(EntityState& child, const Event& event);
void EvolveBookkeeping(EntityState& entity, const Event& event);

// Ends an open entity when its run ends. Returns true if the entity changed.
bool ReleaseHook(RunState& run, EntityState& hook);
bool ReleaseWait(RunState& run, EntityState& wait);

// Marks the entity as started or restarted: keeps the first start time, clears the end time.
inline void MarkStarted(EntityState& entity, const Event& event) {
  if (entity.started_at == Timestamp{}) entity.started_at = event.emitted_at;
  entity.completed_at = {};
}

}  // namespace everstep
