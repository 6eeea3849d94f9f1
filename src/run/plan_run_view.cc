#include <algorithm>
#include <utility>

#include "base/timestamp.h"
#include "run/plan_run.h"

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

std::string OrderText(const RunId& run_id, std::string_view words) {
  return "everstep signal " + run_id.value() + " " + std::string(words);
}

}  // namespace

RunView PlanRun::View() const {
  RunView view;
  view.run_id = run_id_.value();
  view.plan_id = scope_.plan_id;
  view.plan_version = scope_.plan_version;
  view.status = Name(status());
  if (status() == RunStatus::kPaused &&
      std::ranges::any_of(progress_.running, [this](const UnitKey& key) { return IsTool(key); })) {
    view.substatus = "DRAINING";
  }
  if (status() == RunStatus::kPending && progress_.plan->requires_approval) {
    view.substatus = "WAITING_APPROVAL";
  }
  view.last_event_seq = progress_.last_seq.value();
  view.started_at = TimeOf(progress_.started_at);
  view.completed_at = TimeOf(progress_.completed_at);
  view.inputs = ToJson(progress_.inputs);
  view.result = progress_.result;
  view.error_code = progress_.error_code;
  view.error_message = progress_.error_message;
  view.steps.reserve(progress_.steps.size());
  for (StepIndex step = 0; step < progress_.steps.size(); ++step) {
    view.steps.push_back(ViewOf(step));
  }
  return view;
}

StepView PlanRun::ViewOf(StepIndex step) const {
  const PlanStep& spec = progress_.plan->steps[step];
  const Unit& unit = progress_.steps[step];
  StepView view;
  view.step_id = spec.step_id;
  view.name = spec.name;
  view.kind = KindOf(spec);
  view.status = unit.status == EntityStatus::kAbsent ? "WAITING" : Name(unit.status);
  view.logical_attempt = unit.logical_attempt;
  view.attempts_max = spec.action.retry.attempts_max;
  view.engine_attempt = unit.engine_attempt;
  view.started_at = TimeOf(unit.started_at);
  view.completed_at = TimeOf(unit.ended_at);
  if (unit.status == EntityStatus::kSkipped) {
    view.skip_code = unit.error_code;
  } else {
    view.error_code = unit.error_code;
  }
  view.error_message = unit.error_message;
  for (const StepIndex dependency : spec.depends_on) {
    view.depends_on.push_back(progress_.plan->steps[dependency].step_id);
  }
  const auto wakes_at = [&](std::string_view what, std::uint32_t attempt) {
    const auto wait = progress_.waits.find(PurposeId(what, spec.step_id, attempt));
    if (wait != progress_.waits.end()) view.wakes_at = TimeOf(wait->second.due_at);
  };
  if (unit.status == EntityStatus::kFailed && unit.will_retry) {
    view.status = "RETRYING";
    wakes_at("retry", unit.logical_attempt + 1);
  } else if (unit.status == EntityStatus::kRunning && spec.wait_for) {
    wakes_at("wait", unit.logical_attempt);
    wakes_at("timeout", unit.logical_attempt);
    const auto hook = progress_.hooks.find(PurposeId("hook", spec.step_id, unit.logical_attempt));
    if (hook != progress_.hooks.end()) view.hook_token = hook->second.token;
  }
  if (const auto loop = progress_.loops.find(step); loop != progress_.loops.end()) {
    view.items_total = loop->second.units.size();
    view.items_done = loop->second.done;
    view.items_failed = loop->second.failed;
    view.items_running = loop->second.running;
  }
  if (spec.child && unit.status == EntityStatus::kRunning) {
    const std::string child_id = ChildIdOf({step}).value();
    if (progress_.children.contains(child_id)) view.child_run_id = child_id;
  }
  return view;
}

// ---- why

Explanation PlanRun::Why() const {
  Explanation why;
  why.run_id = run_id_.value();
  const RunView view = View();
  why.status = view.status;
  why.substatus = view.substatus;
  ExplainStatus(why);
  if (status() == RunStatus::kRunning || status() == RunStatus::kPaused) {
    for (const UnitKey& key : progress_.running) ExplainUnit(key, why);
    ExplainReady(why);
    ExplainWaiting(why);
  }
  const std::size_t causes = why.blockers.size();
  if (causes == 1) {
    why.summary = why.blockers.front().message;
  } else if (causes > 1) {
    why.summary = "the run waits for " + std::to_string(causes) +
                  " things; first: " + why.blockers.front().message;
  } else if (why.summary.empty()) {
    why.summary = "the run is about to go on";
  }
  if (status() == RunStatus::kRunning || status() == RunStatus::kPaused) ExplainDependencies(why);
  return why;
}

void PlanRun::ExplainStatus(Explanation& to) const {
  switch (status()) {
    case RunStatus::kCompleted:
      to.summary = "the run is complete";
      return;
    case RunStatus::kFailed:
      to.summary = "the run failed: " + progress_.error_code + ": " + progress_.error_message;
      return;
    case RunStatus::kCancelled:
      to.summary = "the run was cancelled";
      return;
    case RunStatus::kPaused:
      to.blockers.push_back(
          {"pause", run_id_.value(),
           "the run is paused" +
               (progress_.pause_reason.empty() ? std::string() : ": " + progress_.pause_reason),
           progress_.status_seq.value(), std::nullopt, OrderText(run_id_, "resume")});
      break;
    case RunStatus::kPending:
      if (progress_.plan->requires_approval) {
        to.blockers.push_back({"approval", run_id_.value(), "the run waits for its approval",
                               progress_.status_seq.value(), std::nullopt,
                               "everstep approve " + run_id_.value()});
      }
      break;
    default:
      break;
  }
  if (const auto start = progress_.waits.find("start"); start != progress_.waits.end()) {
    to.blockers.push_back({"timer",
                           "start",
                           "the run starts later",
                           start->second.seq.value(),
                           TimeOf(start->second.due_at),
                           {}});
  }
  if (progress_.ending != PlanProgress::Ending::kNone) {
    const bool failing = progress_.ending == PlanProgress::Ending::kFailing;
    to.blockers.push_back({"cancelling",
                           run_id_.value(),
                           failing ? "the run is failing (" + progress_.ending_code +
                                         ") and finishes what is under way"
                                   : std::string("the run is being cancelled"),
                           progress_.ending_seq.value(),
                           std::nullopt,
                           {}});
  }
}

void PlanRun::ExplainUnit(const UnitKey& key, Explanation& to) const {
  const PlanStep& spec = progress_.plan->steps[key.step];
  const Unit& unit = *progress_.Find(key);
  const std::string id = IdOf(key);
  Blocker blocker{"step", id, {}, unit.last_seq.value(), std::nullopt, {}};
  if (key.role == UnitKey::Role::kStep && spec.foreach) return;  // its items say it
  if (asked_.contains(key)) return;                              // ExplainReady does
  if (key.role != UnitKey::Role::kUndo && spec.wait_for) {
    const auto hook = progress_.hooks.find(PurposeId("hook", id, unit.logical_attempt));
    const bool hooked = hook != progress_.hooks.end();
    const auto wait =
        progress_.waits.find(PurposeId(hooked ? "timeout" : "wait", id, unit.logical_attempt));
    if (wait != progress_.waits.end()) blocker.wakes_at = TimeOf(wait->second.due_at);
    if (hooked) {
      const bool approval = spec.wait_for->kind == WaitFor::Kind::kApproval;
      blocker.kind = approval ? "approval" : "hook";
      blocker.cause_seq = hook->second.seq.value();
      blocker.message = "step " + id + " waits for " + (approval ? "an approval" : "an answer") +
                        " to token " + hook->second.token;
      blocker.remedy = "everstep deliver " + hook->second.token +
                       (approval ? R"( --payload '{"approved":true}')" : "");
    } else {
      blocker.kind = "timer";
      if (wait != progress_.waits.end()) blocker.cause_seq = wait->second.seq.value();
      blocker.message = "step " + id + " waits for its time";
    }
  } else if (key.role != UnitKey::Role::kUndo && spec.child) {
    blocker.kind = "child";
    const std::string child_id = ChildIdOf(key).value();
    blocker.message = "step " + id + " waits for its child run " + child_id;
    blocker.remedy = "everstep why " + child_id;
  } else if (!under_way_.contains(key) && !tools_.Has(ActionOf(key).kind)) {
    blocker.kind = "worker";
    blocker.message = "no worker here has the tool " + ActionOf(key).kind + " for step " + id;
  } else if (!under_way_.contains(key)) {
    blocker.kind = "lease";
    blocker.message = "step " + id +
                      " runs in a process that is gone; it is delivered again when "
                      "an engine opens this store";
  } else if (const std::string waits =
                 tools_.WhyWaiting({run_id_, id, unit.logical_attempt, unit.engine_attempt});
             !waits.empty()) {
    blocker.kind = "worker";
    blocker.message = "step " + id + " " + waits;
  } else {
    blocker.message = "step " + id + " (" + ActionOf(key).kind + ") runs, attempt " +
                      std::to_string(unit.logical_attempt) + ", delivery " +
                      std::to_string(unit.engine_attempt);
    blocker.wakes_at = TimeOf(under_way_.at(key).timeout_at);
  }
  to.blockers.push_back(std::move(blocker));
}

// The event that made the unit ready.
EventSeq PlanRun::CauseOf(const UnitKey& key) const {
  const Unit* unit = progress_.Find(key);
  if (unit != nullptr && unit->status != EntityStatus::kAbsent) return unit->last_seq;
  EventSeq cause = progress_.started_seq;
  if (key.role == UnitKey::Role::kUndo) return std::max(cause, progress_.ending_seq);
  if (key.role == UnitKey::Role::kItem) return std::max(cause, progress_.steps[key.step].last_seq);
  for (const StepIndex dependency : progress_.plan->steps[key.step].depends_on) {
    cause = std::max(cause, progress_.steps[dependency].last_seq);
  }
  return cause;
}

// Units that could run and do not: for want of a slot, or of a tool.
void PlanRun::ExplainReady(Explanation& to) const {
  for (const UnitKey& key : asked_) {
    const Action& action = ActionOf(key);
    to.blockers.push_back({"slot",
                           IdOf(key),
                           "step " + IdOf(key) + " waits for a slot of " +
                               (action.queue.empty() ? action.kind : action.queue),
                           CauseOf(key).value(),
                           std::nullopt,
                           {}});
  }
  for (const UnitKey& key : WithoutTool()) {
    to.blockers.push_back(
        {"worker",
         IdOf(key),
         "no worker here has the tool " + ActionOf(key).kind + " for step " + IdOf(key),
         CauseOf(key).value(),
         std::nullopt,
         {}});
  }
}

// Also of a run that was folded for this question and has not tried to start anything.
std::set<UnitKey> PlanRun::WithoutTool() const {
  std::set<UnitKey> without;
  const auto consider = [&](const UnitKey& key) {
    if (IsTool(key) && !tools_.Has(ActionOf(key).kind)) without.insert(key);
  };
  for (const UnitKey& key : missing_) {
    if (!progress_.running.contains(key)) consider(key);
  }
  for (const PlanProgress::Place& place : progress_.ready) consider({place.step});
  for (const UnitKey& key : progress_.retry_ready) consider(key);
  for (const StepIndex step : progress_.loops_open) {
    const PlanProgress::Loop& loop = progress_.loops.at(step);
    if (!loop.again.empty()) consider({step, UnitKey::Role::kItem, *loop.again.begin()});
    if (loop.next < loop.units.size()) consider({step, UnitKey::Role::kItem, loop.next});
  }
  return without;
}

void PlanRun::ExplainDependencies(Explanation& to) const {
  constexpr std::size_t kNamed = 20;  // a plan can have any number of them
  std::size_t named = 0;
  for (StepIndex step = 0; step < progress_.steps.size() && named < kNamed; ++step) {
    if (progress_.dependencies[step].open == 0 || progress_.steps[step].settled) continue;
    std::string open;
    EventSeq cause = progress_.started_seq;
    for (const StepIndex dependency : progress_.plan->steps[step].depends_on) {
      if (progress_.steps[dependency].settled) continue;
      open.append(open.empty() ? "" : ", ").append(IdOf({dependency}));
      cause = std::max(cause, progress_.steps[dependency].last_seq);
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

void PlanRun::ExplainWaiting(Explanation& to) const {
  for (const UnitKey& key : progress_.held) {
    const Unit& unit = *progress_.Find(key);
    to.blockers.push_back({"held", IdOf(key),
                           "step " + IdOf(key) + " failed (" + unit.error_code + ": " +
                               unit.error_message + ") and is held for an operator",
                           unit.last_seq.value(), std::nullopt,
                           OrderText(run_id_, "retry --step " + IdOf(key))});
  }
  for (const auto& [wait_id, wait] : progress_.waits) {
    const Purpose purpose = PurposeOf(wait_id);
    if (purpose.what != "retry") continue;
    const UnitKey key = UnitNamed(*progress_.plan, purpose.unit_id);
    const Unit* unit = progress_.Find(key);
    if (unit == nullptr || unit->status != EntityStatus::kFailed || !unit->will_retry) continue;
    to.blockers.push_back({"retry", std::string(purpose.unit_id),
                           "step " + std::string(purpose.unit_id) + " failed (" + unit->error_code +
                               ") and is tried again as attempt " + std::to_string(purpose.attempt),
                           wait.seq.value(), TimeOf(wait.due_at),
                           OrderText(run_id_, "retry --step " + std::string(purpose.unit_id))});
  }
}

}  // namespace everstep
