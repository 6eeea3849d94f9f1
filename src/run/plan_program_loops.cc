// The loops of a plan's run: which item is next, and how a loop ends.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/json.h"
#include "run/plan_program.h"

namespace everstep {

// The items' own events hold the results; the list is written only while it is small.
std::string PlanProgram::LoopResult(const Loop& loop) const {
  constexpr std::size_t kListBytes = 16 * 1024;
  std::string list = "[";
  for (const Item& item : loop.units) {
    const Activity& activity = state_.activities.at(item.activity);
    if (list.size() > 1) list += ',';
    if (activity.failed()) {
      list += R"({"error":{"code":)" + JsonQuote(activity.error_code) + R"(,"message":)" +
              JsonQuote(activity.error_message) + "}}";
    } else {
      list += activity.result.empty() ? "null" : activity.result.json();
    }
    if (list.size() > kListBytes) return R"({"$items":)" + std::to_string(loop.units.size()) + "}";
  }
  return list + "]";
}

bool PlanProgram::NextOfLoops(Commands& commands) {
  while (!loops_changed_.empty()) {
    const StepIndex step = *loops_changed_.begin();
    if (loops_open_.contains(step)) {
      if (loops_.at(step).Over()) {
        FinishLoop(commands, step);
        return true;
      }
      if (!commands.may_start()) return false;
      if (NextItem(commands, step)) return true;
    }
    loops_changed_.erase(step);
  }
  return false;
}

bool PlanProgram::NextItem(Commands& commands, StepIndex step) {
  const Loop& loop = loops_.at(step);
  if (loop.stopped || loop.running >= plan_->steps[step].foreach->in_flight_max) return false;
  // One item at a time waits for a slot or a tool; the others would only queue after it.
  const auto waiting = aside_.lower_bound({step, UnitKey::Role::kItem, 0});
  const bool waits =
      waiting != aside_.end() && waiting->step == step && waiting->role == UnitKey::Role::kItem;
  if (waits) return false;
  const bool again = !loop.again.empty();
  if (!again && loop.next >= loop.units.size()) return false;
  const std::uint32_t item = again ? *loop.again.begin() : loop.next;
  commands.Schedule(NoOf({step, UnitKey::Role::kItem, item}));
  return true;
}

// Items that wait for a slot do not begin any more.
void PlanProgram::WithdrawItems(Commands& commands, StepIndex step) {
  std::vector<UnitKey> waiting;
  for (auto key = aside_.lower_bound({step, UnitKey::Role::kItem, 0});
       key != aside_.end() && key->step == step && key->role == UnitKey::Role::kItem; ++key) {
    waiting.push_back(*key);
  }
  for (const UnitKey& key : waiting) commands.Withdraw(NoOf(key));
}

void PlanProgram::FinishLoop(Commands& commands, StepIndex step) {
  const Loop& loop = loops_.at(step);
  WithdrawItems(commands, step);
  const ActivityNo no = NoOf({step});
  if (!loop.stopped) return commands.Finish(no, TaskOutcome::Success(LoopResult(loop)));
  const auto failed = std::ranges::find_if(loop.units, [this](const Item& item) {
    if (item.activity == kNoActivity) return false;
    const Activity& activity = state_.activities.at(item.activity);
    return activity.failed() && !activity.will_retry;
  });
  EVERSTEP_ASSERT(failed != loop.units.end());
  const Activity& activity = state_.activities.at(failed->activity);
  commands.Finish(
      no, TaskOutcome::Failure("ITEM_FAILED",
                               "item " + std::to_string(failed - loop.units.begin()) + ": " +
                                   activity.error_code + ": " + activity.error_message,
                               false, "USER"));
}

// Ends a loop whose items have all ended, while the run is ending.
bool PlanProgram::CloseIdleLoop(Commands& commands) {
  const auto idle = std::ranges::find_if(
      loops_open_, [this](StepIndex step) { return loops_.at(step).running == 0; });
  if (idle == loops_open_.end()) return false;
  commands.Finish(NoOf({*idle}),
                  TaskOutcome::Failure("CANCELLED", "the run is ending", false, "USER"));
  return true;
}

}  // namespace everstep
