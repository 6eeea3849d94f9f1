#pragma once

// Private to machine/: the lifecycle of each kind of entity, and what they share. machine.cc asks
// the run's gate first (PassRunGate) and then the lifecycle of the event's entity, so that a
// lifecycle knows only what is its own.

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

// "StepStarted of 's1' (attempt 2)", or "RunPaused (attempt 1)": how a message begins.
std::string Subject(const Event& event);
// A rejection whose message is the subject, a colon and the parts.
Rejection Refuse(ErrorCode code, const Event& event, std::initializer_list<std::string_view> parts);
// kRunNotFound.
Rejection RefuseAbsentRun(const Event& event);
// kRunNotStarted, for what has to wait for RunStarted; passes when the run has started.
Verdict RequireStarted(const RunState& run, const Event& event);

// A run that is cancelled once more, which the writer's rules allow. The attempt of each is its
// place in the log, so that it is another event than those before.
inline bool CancelsAgain(const RunState& run, EventType type, const EventFacts& facts) {
  return type == EventType::kRunCancelled && facts.late && run.status == RunStatus::kCancelled;
}
inline std::uint32_t NextPlace(const RunState& run) {
  return static_cast<std::uint32_t>(run.last_seq.value() + 1);
}

// Each Judge is asked for events of its own kind on a run that exists and that the gate let pass.
Verdict JudgeRun(const RunState& run, const Event& event);  // the run's own: asked without the gate
Verdict JudgeStep(const RunState& run, const EntityState& step, const Event& event);
Verdict JudgeHook(const EntityState& hook, const Event& event);
Verdict JudgeWait(const EntityState& wait, const Event& event);
Verdict JudgeSignal(const EntityState& signal, const Event& event);
Verdict JudgeError(const EntityState& error, const Event& event);
Verdict JudgeChild(const EntityState& child, const Event& event);
Verdict JudgeBookkeeping(const RunState& run, const Event& event);

// Each Evolve changes status, times, counts and what else is the kind's own. Sequence numbers,
// occurrences and parent are machine.cc's business.
void EvolveRun(RunState& run, const Event& event);
void EvolveStep(RunState& run, EntityState& step, const Event& event);
void EvolveHook(RunState& run, EntityState& hook, const Event& event);
void EvolveWait(RunState& run, EntityState& wait, const Event& event);
void EvolveSignal(EntityState& signal, const Event& event);
void EvolveError(RunState& run, EntityState& error, const Event& event);
void EvolveChild(EntityState& child, const Event& event);
void EvolveBookkeeping(EntityState& entity, const Event& event);

// Ends what is still open when the run ends. True if it changed.
bool ReleaseHook(RunState& run, EntityState& hook);
bool ReleaseWait(RunState& run, EntityState& wait);

// Opens or reopens: keeps the first start and forgets an earlier end.
inline void MarkStarted(EntityState& entity, const Event& event) {
  if (entity.started_at == Timestamp{}) entity.started_at = event.emitted_at;
  entity.completed_at = {};
}

}  // namespace everstep
