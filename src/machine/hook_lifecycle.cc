#include "machine/lifecycle.h"

namespace everstep {
namespace {

bool Opens(EventType type) {
  return type == EventType::kHookCreated || type == EventType::kHookConflict;
}

}  // namespace

Verdict JudgeHook(const EntityState& hook, const Event& event) {
  switch (hook.status) {
    case EntityStatus::kAbsent:
      if (Opens(event.type)) return kPass;
      return Refuse(ErrorCode::kHookNotFound, event,
                    {"the hook does not exist; HookCreated must come first."});
    case EntityStatus::kActive:
      if (!Opens(event.type)) return kPass;
      break;
    case EntityStatus::kDisposed:
    case EntityStatus::kConflicted:
      return Refuse(ErrorCode::kHookTerminal, event,
                    {"the hook is ", Name(hook.status), ", which is final."});
    default:
      break;
  }
  return Refuse(
      ErrorCode::kInvalidTransition, event,
      {"the hook is ", Name(hook.status), "; it must be ", Opens(event.type) ? "new." : "ACTIVE."});
}

void EvolveHook(RunState& run, EntityState& hook, const Event& event) {
  switch (event.type) {
    case EventType::kHookCreated:
      hook.status = EntityStatus::kActive;
      hook.token = event.facts.token;
      hook.due_at = event.facts.due_at;
      MarkStarted(hook, event);
      ++run.hooks_active;
      break;
    case EventType::kHookConflict:
      hook.status = EntityStatus::kConflicted;
      hook.token = event.facts.token;
      hook.completed_at = event.emitted_at;
      break;
    case EventType::kHookDisposed:
      hook.status = EntityStatus::kDisposed;
      hook.completed_at = event.emitted_at;
      --run.hooks_active;
      break;
    default:  // a delivery: the hook stays active for further deliveries
      break;
  }
}

bool ReleaseHook(RunState& run, EntityState& hook) {
  if (hook.status != EntityStatus::kActive) return false;
  hook.status = EntityStatus::kDisposed;
  hook.completed_at = run.completed_at;
  --run.hooks_active;
  return true;
}

}  // namespace everstep
