#pragma once

#include <sstream>
#include <string>

#include "run/execution.h"

namespace everstep {

// What a run shows of itself, as text that a failing test can print.
inline std::string DescriptionOf(const Execution& run) {
  std::ostringstream out;
  const auto time = [](const std::optional<SystemTime>& at) {
    return at ? at->time_since_epoch().count() : 0;
  };
  const RunView view = run.View();
  out << view.status << ' ' << view.substatus << " seq " << view.last_event_seq << "\ninputs "
      << view.inputs << "\nresult " << view.result << "\nerror " << view.error_code << ' '
      << view.error_message << "\nfrom " << time(view.started_at) << " to "
      << time(view.completed_at) << '\n';
  for (const StepView& step : view.steps) {
    out << step.step_id << ' ' << step.status << " attempt " << step.logical_attempt << '/'
        << step.engine_attempt << " error " << step.error_code << ' ' << step.error_message
        << " skip " << step.skip_code << " token " << step.hook_token << " child "
        << step.child_run_id << " items " << step.items_done << '+' << step.items_failed << '+'
        << step.items_running << '/' << step.items_total << " from " << time(step.started_at)
        << " to " << time(step.completed_at) << " wakes " << time(step.wakes_at) << '\n';
  }
  const RunProgress& progress = run.progress();
  out << "ending " << static_cast<int>(progress.ending) << ' ' << progress.ending_code << ' '
      << progress.ending_step << ' ' << progress.ending_signal << '\n';
  const ActivityTable& activities = run.activities();
  for (const auto& [id, wait] : activities.waits()) {
    out << "wait " << id << ' ' << Micros(wait.due_at) << '\n';
  }
  for (const auto& [id, hook] : activities.hooks())
    out << "hook " << id << ' ' << hook.token << '\n';
  for (const auto& [id, child] : activities.children()) {
    out << "child " << id << " of " << child.activity_id << '\n';
  }
  return out.str();
}

}  // namespace everstep
