// What people see of a run, and why it does not go on.

#include <algorithm>
#include <utility>

#include "base/timestamp.h"
#include "run/execution.h"

namespace everstep {
namespace {

std::optional<SystemTime> TimeOf(Timestamp time) {
  if (time == Timestamp{}) return std::nullopt;
  return time;
}

std::string OrderText(const RunId& run_id, std::string_view words) {
  return "everstep signal " + run_id.value() + " " + std::string(words);
}

std::string_view QueueOf(const ActivitySpec& spec) {
  return spec.queue.empty() ? spec.kind : spec.queue;
}

}  // namespace

RunView Execution::View() const {
  const RunProgress& run = state_.run;
  RunView view;
  view.run_id = state_.run_id.value();
  view.plan_id = state_.scope.plan_id;
  view.plan_version = state_.scope.plan_version;
  view.status = Name(status());
  if (status() == RunStatus::kPaused &&
      std::ranges::any_of(state_.activities.running(),
                          [this](ActivityNo no) { return IsTool(no); })) {
    view.substatus = "DRAINING";
  }
  if (status() == RunStatus::kPending && compiled_->requires_approval()) {
    view.substatus = "WAITING_APPROVAL";
  }
  view.last_event_seq = run.last_seq.value();
  view.started_at = TimeOf(run.started_at);
  view.completed_at = TimeOf(run.completed_at);
  view.inputs = ToJson(run.inputs);
  view.result = run.result;
  view.error_code = run.error_code;
  view.error_message = run.error_message;
  program_->View(view);
  return view;
}

// ---- why

Explanation Execution::Why() const {
  Explanation why;
  why.run_id = state_.run_id.value();
  const RunView view = View();
  why.status = view.status;
  why.substatus = view.substatus;
  ExplainStatus(why);
  const bool goes_on = status() == RunStatus::kRunning || status() == RunStatus::kPaused;
  if (goes_on) {
    for (const ActivityNo no : state_.activities.running()) ExplainActivity(no, why);
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
  if (goes_on) program_->ExplainDependencies(why);
  return why;
}

void Execution::ExplainStatus(Explanation& to) const {
  const RunProgress& run = state_.run;
  const std::string& run_id = state_.run_id.value();
  switch (status()) {
    case RunStatus::kCompleted:
      to.summary = "the run is complete";
      return;
    case RunStatus::kFailed:
      to.summary = "the run failed: " + run.error_code + ": " + run.error_message;
      return;
    case RunStatus::kCancelled:
      to.summary = "the run was cancelled";
      return;
    case RunStatus::kPaused:
      to.blockers.push_back(
          {"pause", run_id,
           "the run is paused" +
               (run.pause_reason.empty() ? std::string() : ": " + run.pause_reason),
           run.status_seq.value(), std::nullopt, OrderText(state_.run_id, "resume")});
      break;
    case RunStatus::kPending:
      if (compiled_->requires_approval()) {
        to.blockers.push_back({"approval", run_id, "the run waits for its approval",
                               run.status_seq.value(), std::nullopt, "everstep approve " + run_id});
      }
      break;
    default:
      break;
  }
  const auto& waits = state_.activities.waits();
  if (const auto start = waits.find("start"); start != waits.end()) {
    to.blockers.push_back({"timer",
                           "start",
                           "the run starts later",
                           start->second.seq.value(),
                           TimeOf(start->second.due_at),
                           {}});
  }
  if (run.is_ending()) {
    const bool failing = run.ending == RunProgress::Ending::kFailing;
    to.blockers.push_back(
        {"cancelling",
         run_id,
         failing ? "the run is failing (" + run.ending_code + ") and finishes what is under way"
                 : std::string("the run is being cancelled"),
         run.ending_seq.value(),
         std::nullopt,
         {}});
  }
}

void Execution::ExplainActivity(ActivityNo no, Explanation& to) const {
  const Activity& activity = at(no);
  const std::string& id = activity.id;
  const Work work = program_->WorkOf(no);
  if (work == Work::kScope) return;  // the activities in it explain it
  if (asked_.contains(no)) return;   // ExplainReady does
  const ActivitySpec& spec = program_->SpecOf(no);
  Blocker blocker{"step", id, {}, activity.last_seq.value(), std::nullopt, {}};
  if (const auto order = cancelled_.find(no); order != cancelled_.end()) {
    blocker.kind = "cancelling";
    blocker.message = "step " + id + " is being cancelled: " + order->second.reason;
    return to.blockers.push_back(std::move(blocker));
  }
  if (work == Work::kTimer || work == Work::kHook || activity.submitted) {
    const auto& hooks = state_.activities.hooks();
    const auto& waits = state_.activities.waits();
    const auto hook = hooks.find(PurposeId("hook", id, activity.logical_attempt));
    const bool hooked = hook != hooks.end();
    const auto wait =
        waits.find(PurposeId(hooked ? "timeout" : "wait", id, activity.logical_attempt));
    if (wait != waits.end()) blocker.wakes_at = TimeOf(wait->second.due_at);
    const auto silent = silent_at_.find(no);
    if (silent != silent_at_.end() && (!blocker.wakes_at || silent->second < *blocker.wakes_at)) {
      blocker.wakes_at = silent->second;
    }
    if (hooked) {
      const bool approval = hook->second.approval;
      blocker.kind = approval ? "approval" : "hook";
      blocker.cause_seq = hook->second.seq.value();
      blocker.message = "step " + id + " waits for " + (approval ? "an approval" : "an answer") +
                        " to token " + hook->second.token;
      blocker.remedy = "everstep deliver " + hook->second.token +
                       (approval ? R"( --payload '{"approved":true}')" : "");
    } else {
      blocker.kind = "timer";
      if (wait != waits.end()) blocker.cause_seq = wait->second.seq.value();
      blocker.message = "step " + id + " waits for its time";
    }
  } else if (work == Work::kChild) {
    blocker.kind = "child";
    const std::string child_id = ChildIdOf(state_, no).value();
    blocker.message = "step " + id + " waits for its child run " + child_id;
    blocker.remedy = "everstep why " + child_id;
  } else if (!under_way_.contains(no) && !tools_.Has(spec.kind)) {
    blocker.kind = "worker";
    blocker.message = "no worker here has the tool " + spec.kind + " for step " + id;
  } else if (!under_way_.contains(no)) {
    blocker.kind = "lease";
    blocker.message = "step " + id +
                      " runs in a process that is gone; it is delivered again when "
                      "an engine opens this store";
  } else if (const std::string waits = tools_.WhyWaiting(TaskOf(no)); !waits.empty()) {
    blocker.kind = "worker";
    blocker.message = "step " + id + " " + waits;
  } else {
    blocker.message = "step " + id + " (" + spec.kind + ") runs, attempt " +
                      std::to_string(activity.logical_attempt) + ", delivery " +
                      std::to_string(activity.engine_attempt);
    blocker.wakes_at = TimeOf(under_way_.at(no).timeout_at);
  }
  to.blockers.push_back(std::move(blocker));
}

// Activities that could run and do not: for want of a slot, or of a tool.
void Execution::ExplainReady(Explanation& to) const {
  for (const ActivityNo no : asked_) {
    to.blockers.push_back(
        {"slot",
         IdOf(no),
         "step " + IdOf(no) + " waits for a slot of " + std::string(QueueOf(program_->SpecOf(no))),
         program_->CauseOf(IdOf(no)).value(),
         std::nullopt,
         {}});
  }
  std::map<std::string, std::string> without;  // id, tool
  const auto consider = [&](const std::string& id, const ActivitySpec& spec) {
    if (!tools_.Has(spec.kind)) without.emplace(id, spec.kind);
  };
  for (const ActivityNo no : missing_) {
    if (!at(no).running()) consider(IdOf(no), program_->SpecOf(no));
  }
  program_->VisitReady(consider);
  for (const auto& [id, kind] : without) {
    to.blockers.push_back({"worker",
                           id,
                           "no worker here has the tool " + kind + " for step " + id,
                           program_->CauseOf(id).value(),
                           std::nullopt,
                           {}});
  }
}

void Execution::ExplainWaiting(Explanation& to) const {
  for (const ActivityNo no : state_.activities.held()) {
    const Activity& activity = at(no);
    to.blockers.push_back({"held", activity.id,
                           "step " + activity.id + " failed (" + activity.error_code + ": " +
                               activity.error_message + ") and is held for an operator",
                           activity.last_seq.value(), std::nullopt,
                           OrderText(state_.run_id, "retry --step " + activity.id)});
  }
  for (const auto& [wait_id, wait] : state_.activities.waits()) {
    const Purpose purpose = PurposeOf(wait_id);
    if (purpose.what != "retry") continue;
    const ActivityNo no = state_.activities.Find(purpose.activity_id);
    if (no == kNoActivity || !at(no).failed() || !at(no).will_retry) continue;
    const std::string& id = IdOf(no);
    to.blockers.push_back({"retry", id,
                           "step " + id + " failed (" + at(no).error_code +
                               ") and is tried again as attempt " + std::to_string(purpose.attempt),
                           wait.seq.value(), TimeOf(wait.due_at),
                           OrderText(state_.run_id, "retry --step " + id)});
  }
}

}  // namespace everstep
