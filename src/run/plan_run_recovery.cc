// How a run that was read back from its log goes on.

#include <utility>

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

void PlanRun::TakeOver(const PlanRun& before, std::set<UnitKey> slots) {
  slots_ = std::move(slots);
  drain_alerted_ = before.drain_alerted_;
  for (const auto& [key, delivery] : before.under_way_) {
    const Unit& then = *before.progress_.Find(key);
    const Unit* now = progress_.Find(key);
    const bool same = now != nullptr && now->status == EntityStatus::kRunning &&
                      now->logical_attempt == then.logical_attempt &&
                      now->engine_attempt == then.engine_attempt;
    if (!same) continue;
    under_way_[key] = delivery;
    if (delivery.timeout_at != Timestamp{}) deadlines_.insert({delivery.timeout_at, key, false});
    if (delivery.lease_until != Timestamp{}) deadlines_.insert({delivery.lease_until, key, true});
  }
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
    const bool waits = unit != nullptr && unit->status == EntityStatus::kRunning &&
                       ChildIdOf(key).value() == child_id;
    if (waits) {
      turn.effects.children.push_back(ChildOf(key, unit->inputs));
    } else {  // of an attempt that was given up: it may not have heard of it
      turn.effects.cancel_children.push_back(RunId(child_id));
    }
  }
}

}  // namespace everstep
