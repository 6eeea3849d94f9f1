// How a run that was read back from its log goes on.

#include "run/plan_run.h"

namespace everstep {

void PlanRun::Recover(Turn& turn) {
  if (IsTerminal(status())) return;
  if (turn.may_start) {
    more_ = false;
    RecoverTools(turn);
    RecoverChildren(turn);
    if (more_) return;
  }
  Advance(turn);
}

void PlanRun::RecoverTools(Turn& turn) {
  if (status() != RunStatus::kRunning && !IsEnding()) return;  // delivered again on resume
  const std::set<UnitKey> running = progress_.running;
  for (const UnitKey& key : running) {
    if (!IsTool(key) || under_way_.contains(key) || asked_.contains(key) ||
        missing_.contains(key)) {
      continue;
    }
    if (IsEnding() && !OutlivesEnding(key)) continue;  // it ends with the run
    if (turn.writes.size() >= kEventsPerTurn) {
      more_ = true;
      return;
    }
    Redeliver(turn, key);
  }
}

void PlanRun::RecoverChildren(Turn& turn) {
  for (const auto& [child_id, child] : progress_.children) {
    if (!children_told_.insert(child_id).second) continue;
    const UnitKey key = UnitNamed(*progress_.plan, child.unit_id);
    const Unit* unit = progress_.Find(key);
    if (unit == nullptr || unit->status != EntityStatus::kRunning) continue;
    turn.effects.children.push_back(ChildOf(key, unit->inputs));
  }
}

}  // namespace everstep
