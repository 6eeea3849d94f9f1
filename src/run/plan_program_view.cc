// What people see of a plan's run.

#include <algorithm>
#include <utility>

#include "run/plan_program.h"

namespace everstep {
namespace {

std::optional<SystemTime> TimeOf(Timestamp time) {
  if (time == Timestamp{}) return std::nullopt;
  return time;
}

std::string_view KindOf(const PlanStep& step) {
  if (step.wait_for) return "wait";
  if (step.child) return "plan";
  return step.action.kind;
}

}  // namespace

void PlanProgram::View(RunView& view) const {
  view.steps.reserve(steps_.size());
  for (StepIndex step = 0; step < steps_.size(); ++step) view.steps.push_back(ViewOf(step));
}

StepView PlanProgram::ViewOf(StepIndex step) const {
  static const Activity kAbsent;
  const PlanStep& spec = plan_->steps[step];
  const Activity* found = Find({step});
  const Activity& activity = found == nullptr ? kAbsent : *found;
  StepView view;
  view.step_id = spec.step_id;
  view.name = spec.name;
  view.kind = KindOf(spec);
  view.status = activity.status == EntityStatus::kAbsent ? "WAITING" : Name(activity.status);
  view.logical_attempt = activity.logical_attempt;
  view.attempts_max = spec.action.attempts_max;
  view.engine_attempt = activity.engine_attempt;
  view.started_at = TimeOf(activity.started_at);
  view.completed_at = TimeOf(activity.ended_at);
  if (activity.status == EntityStatus::kSkipped) {
    view.skip_code = activity.error_code;
  } else {
    view.error_code = activity.error_code;
  }
  view.error_message = activity.error_message;
  for (const StepIndex dependency : spec.depends_on) {
    view.depends_on.push_back(plan_->steps[dependency].step_id);
  }
  const auto& waits = state_.activities.waits();
  const auto wakes_at = [&](std::string_view what, std::uint32_t attempt) {
    const auto wait = waits.find(PurposeId(what, spec.step_id, attempt));
    if (wait != waits.end()) view.wakes_at = TimeOf(wait->second.due_at);
  };
  if (activity.failed() && activity.will_retry) {
    view.status = "RETRYING";
    wakes_at("retry", activity.logical_attempt + 1);
  } else if (activity.running() && spec.wait_for) {
    wakes_at("wait", activity.logical_attempt);
    wakes_at("timeout", activity.logical_attempt);
    const auto& hooks = state_.activities.hooks();
    const auto hook = hooks.find(PurposeId("hook", spec.step_id, activity.logical_attempt));
    if (hook != hooks.end()) view.hook_token = hook->second.token;
  }
  if (const auto loop = loops_.find(step); loop != loops_.end()) {
    view.items_total = loop->second.units.size();
    view.items_done = loop->second.done;
    view.items_failed = loop->second.failed;
    view.items_running = loop->second.running;
  }
  if (spec.child && activity.running()) {
    const std::string child_id = ChildIdOf(state_, steps_[step].activity).value();
    if (state_.activities.children().contains(child_id)) view.child_run_id = child_id;
  }
  return view;
}

EventSeq PlanProgram::CauseOf(std::string_view id) const {
  const UnitKey key = UnitNamed(*plan_, id);
  const Activity* activity = Find(key);
  if (activity != nullptr && activity->status != EntityStatus::kAbsent) return activity->last_seq;
  EventSeq cause = state_.run.started_seq;
  if (key.step == kNoStep) return cause;
  if (key.role == UnitKey::Role::kUndo) return std::max(cause, state_.run.ending_seq);
  const auto consider = [&](StepIndex step) {
    if (const Activity* other = Find({step})) cause = std::max(cause, other->last_seq);
  };
  if (key.role == UnitKey::Role::kItem) {
    consider(key.step);
  } else {
    for (const StepIndex dependency : plan_->steps[key.step].depends_on) consider(dependency);
  }
  return cause;
}

void PlanProgram::VisitReady(const ReadyFn& visit) const {
  const auto consider = [&](const UnitKey& key) {
    if (WorkOf(key) == Work::kTool) visit(IdOf(key), ActionOf(key));
  };
  for (const Place& place : ready_) consider({place.step});
  for (const UnitKey& key : retry_ready_) consider(key);
  for (const StepIndex step : loops_open_) {
    const Loop& loop = loops_.at(step);
    if (!loop.again.empty()) consider({step, UnitKey::Role::kItem, *loop.again.begin()});
    if (loop.next < loop.units.size()) consider({step, UnitKey::Role::kItem, loop.next});
  }
}

void PlanProgram::ExplainDependencies(Explanation& to) const {
  constexpr std::size_t kNamed = 20;  // a plan can have any number of them
  std::size_t named = 0;
  for (StepIndex step = 0; step < steps_.size() && named < kNamed; ++step) {
    if (steps_[step].open == 0 || steps_[step].settled) continue;
    std::string open;
    EventSeq cause = state_.run.started_seq;
    for (const StepIndex dependency : plan_->steps[step].depends_on) {
      if (steps_[dependency].settled) continue;
      open.append(open.empty() ? "" : ", ").append(IdOf({dependency}));
      if (const Activity* other = Find({dependency})) cause = std::max(cause, other->last_seq);
    }
    ++named;
    to.blockers.push_back({"dependency",
                           IdOf({step}),
                           "step " + IdOf({step}) + " waits for " + open,
                           cause.value(),
                           std::nullopt,
                           {}});
  }
}

}  // namespace everstep
