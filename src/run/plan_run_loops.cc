// The loops of a run: which item is next, and what has come of all of them.

#include <algorithm>

#include "base/json.h"
#include "run/plan_run.h"

namespace everstep {
namespace {

// The items' own events hold the results; the list is written only while it is small.
std::string LoopResult(const PlanProgress::Loop& loop) {
  constexpr std::size_t kListBytes = 16 * 1024;
  std::string list = "[";
  for (const Unit& unit : loop.units) {
    if (list.size() > 1) list += ',';
    if (unit.status == EntityStatus::kFailed) {
      list += R"({"error":{"code":)" + JsonQuote(unit.error_code) + R"(,"message":)" +
              JsonQuote(unit.error_message) + "}}";
    } else {
      list += unit.result.empty() ? "null" : unit.result;
    }
    if (list.size() > kListBytes) return R"({"$items":)" + std::to_string(loop.units.size()) + "}";
  }
  return list + "]";
}

}  // namespace

bool PlanRun::AdvanceLoops(Turn& turn) {
  while (!progress_.loops_changed.empty()) {
    const StepIndex step = *progress_.loops_changed.begin();
    if (progress_.loops_open.contains(step)) {
      if (progress_.loops.at(step).Over()) {
        FinishLoop(turn, step);
        return true;
      }
      if (!turn.may_start) return false;
      if (AdvanceLoop(turn, step)) return true;
    }
    progress_.loops_changed.erase(step);
  }
  return false;
}

bool PlanRun::AdvanceLoop(Turn& turn, StepIndex step) {
  const PlanProgress::Loop& loop = progress_.loops.at(step);
  if (loop.stopped || loop.running >= progress_.plan->steps[step].foreach->in_flight_max) {
    return false;
  }
  // One item at a time waits for a slot or a tool; the others would only queue behind it.
  const auto waits = [step](const std::set<UnitKey>& set) {
    const auto first = set.lower_bound({step, UnitKey::Role::kItem, 0});
    return first != set.end() && first->step == step && first->role == UnitKey::Role::kItem;
  };
  if (waits(asked_) || waits(missing_)) return false;
  const bool again = !loop.again.empty();
  if (!again && loop.next >= loop.units.size()) return false;
  StartUnit(turn, {step, UnitKey::Role::kItem, again ? *loop.again.begin() : loop.next}, false);
  return true;
}

// Items that asked for a slot do not begin any more.
void PlanRun::WithdrawItems(Turn& turn, StepIndex step) {
  for (auto asked = asked_.lower_bound({step, UnitKey::Role::kItem, 0});
       asked != asked_.end() && asked->step == step && asked->role == UnitKey::Role::kItem;) {
    turn.effects.freed_slots.push_back(*asked);
    asked = asked_.erase(asked);
  }
}

void PlanRun::FinishLoop(Turn& turn, StepIndex step) {
  const PlanProgress::Loop& loop = progress_.loops.at(step);
  WithdrawItems(turn, step);
  if (loop.stopped) {
    const auto failed = std::ranges::find_if(loop.units, [](const Unit& unit) {
      return unit.status == EntityStatus::kFailed && !unit.will_retry;
    });
    const std::string item = std::to_string(failed - loop.units.begin());
    FailUnit(turn, {step},
             TaskOutcome::Failure(
                 "ITEM_FAILED",
                 "item " + item + ": " + failed->error_code + ": " + failed->error_message, false,
                 "USER"));
    return;
  }
  TaskOutcome outcome;
  outcome.result = LoopResult(loop);
  CompleteUnit(turn, {step}, outcome);
}

}  // namespace everstep
