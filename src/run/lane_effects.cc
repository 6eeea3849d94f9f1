// Releases the effects of a turn once it is durable.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "run/lane_resident.h"

namespace everstep {

void Lane::Release(Resident& resident) {
  Execution& run = *resident.run;
  EVERSTEP_ASSERT(resident.touched && resident.durable == run.progress().last_seq);
  Effects effects = std::move(resident.turn->effects);
  auto answers = std::move(resident.answers);
  resident.answers.clear();
  resident.orders.clear();
  resident.followers.clear();
  resident.turn.reset();
  resident.touched = false;
  const RunId run_id = run.run_id();

  for (const std::string& activity : effects.freed_slots) world_.slots.Release(run_id, activity);
  for (const Effects::Stop& stop : effects.stop) world_.tools.Cancel(stop.task, stop.force);
  // Drop attempts that began and ended in the same turn.
  std::erase_if(effects.dispatch, [&run](const Task& task) { return !run.Runs(task.id); });
  const std::size_t computing = done_.size();
  Dispatch(std::move(effects.dispatch));
  if (done_.size() > computing) resident.computes = turns_;
  for (const auto& [due_at, wait_id] : effects.armed) world_.host.Armed(due_at, run_id, wait_id);
  for (const ChildOrder& child : effects.children) world_.host.StartChild(child);
  for (const RunId& child : effects.cancel_children)
    world_.host.CancelChild(child, run.scope().tenant_id);
  for (Alert& alert : effects.alerts) {
    alert.tenant_id = run.scope().tenant_id;
    world_.host.Raise(alert);
  }
  if (effects.start_due) world_.host.StartDue();
  for (const auto& answer : answers) answer(nullptr);
  if (IsTerminal(run.status())) {
    if (!std::exchange(resident.ended, true)) {
      world_.counters.runs_ended.fetch_add(1);
      world_.host.Ended(run);
    }
  }
  for (const auto& [token, hook_id] : effects.reserved) CheckToken(run, token, hook_id);
  if (run.more()) own_.push_back({run_id, RecoverOrder{.goes_on = true}});
  Reindex(resident);
  Retire(resident);
}

void Lane::Dispatch(std::vector<Task> tasks) {
  for (Task& task : tasks) {
    EVERSTEP_ASSERT(task.id.logical_attempt > 0 && task.id.engine_attempt > 0);
    world_.counters.steps_started.fetch_add(1);
    if (task.id.engine_attempt > 1) world_.counters.steps_redelivered.fetch_add(1);
    if (world_.tools.Immediate(task.kind)) {
      TaskOutcome outcome = world_.tools.RunNow(task);
      done_.push_back({std::move(task.id), std::move(outcome), {}});
    } else {
      world_.counters.tasks_under_way.fetch_add(1);
      flush_ = true;
      world_.tools.Start(std::move(task), *this);
    }
  }
}

void Lane::Reindex(Resident& resident) {
  const Timestamp next = resident.run->NextDeadline();
  if (next == resident.deadline) return;
  const RunId& run_id = resident.run->run_id();
  if (resident.deadline != Timestamp{}) deadlines_.erase({resident.deadline, run_id});
  if (next != Timestamp{}) deadlines_.insert({next, run_id});
  resident.deadline = next;
}

}  // namespace everstep
