#pragma once

#include <sstream>
#include <string>

#include "run/plan_run.h"

namespace everstep {

// Everything that a run's log says about it, as text: two runs are in the same state if their texts
// are equal.
class PlanDescription {
 public:
  // `waiting` includes the ready units. A unit that waits for a slot is not among them in a live
  // process, but is again once the run is folded.
  static std::string Of(const PlanRun& run, bool waiting) {
    PlanDescription text;
    text.View(run.View());
    text.Progress(run.progress(), waiting);
    return text.out_.str();
  }

 private:
  template <typename T>
  PlanDescription& Line(const char* name, const T& value) {
    out_ << name << "=" << value << "\n";
    return *this;
  }
  void Time(const char* name, const std::optional<SystemTime>& time) {
    Line(name, time ? time->time_since_epoch().count() : 0);
  }
  void Key(const char* name, const UnitKey& key) {
    out_ << name << " " << key.step << "." << static_cast<int>(key.role) << "." << key.item << "\n";
  }

  void View(const RunView& view) {
    Line("status", view.status).Line("substatus", view.substatus);
    Line("seq", view.last_event_seq).Line("inputs", view.inputs).Line("result", view.result);
    Line("error", view.error_code).Line("message", view.error_message);
    Time("started", view.started_at);
    Time("completed", view.completed_at);
    for (const StepView& step : view.steps) {
      Line("step", step.step_id).Line(" status", step.status).Line(" try", step.logical_attempt);
      Line(" delivery", step.engine_attempt).Line(" error", step.error_code);
      Line(" message", step.error_message).Line(" skip", step.skip_code);
      Line(" token", step.hook_token).Line(" child", step.child_run_id);
      Line(" total", step.items_total).Line(" done", step.items_done);
      Line(" failed", step.items_failed).Line(" running", step.items_running);
      Time(" started", step.started_at);
      Time(" completed", step.completed_at);
      Time(" wakes", step.wakes_at);
    }
  }

  void Progress(const PlanProgress& progress, bool waiting) {
    for (const Unit& unit : progress.steps) OneUnit(unit);
    for (const auto& [step, loop] : progress.loops) {
      Line("loop", step).Line(" next", loop.next).Line(" unsettled", loop.unsettled);
      Line(" stopped", loop.stopped);
      for (const Unit& unit : loop.units) OneUnit(unit);
    }
    for (const auto& [key, unit] : progress.undo) {
      Key("undo", key);
      OneUnit(unit);
    }
    for (const UnitKey& key : progress.running) Key("running", key);
    for (const UnitKey& key : progress.held) Key("held", key);
    for (const UnitKey& key : progress.succeeded) Key("succeeded", key);
    if (waiting) {
      for (const auto& place : progress.ready) Line("ready", place.step);
      for (const UnitKey& key : progress.retry_ready) Key("retry", key);
    }
    for (const StepIndex step : progress.doomed) Line("doomed", step);
    for (const auto& [id, wait] : progress.waits) {
      Line("wait", id).Line(" due", wait.due_at.time_since_epoch().count());
    }
    for (const auto& [id, hook] : progress.hooks) Line("hook", id).Line(" token", hook.token);
    for (const auto& [id, child] : progress.children) Line("child", id).Line(" of", child.unit_id);
    for (const std::string& id : progress.hook_conflicts) Line("conflict", id);
    for (const auto& [id, signal] : progress.signals)
      Line("signal", id).Line(" is", signal.decision);
    for (const auto& [id, value] : progress.overrides) Line("override", id + ToJson(value));
    for (const auto& [id, value] : progress.targets) Line("target", id + ToJson(value));
    Line("open", progress.open_steps).Line("ending", static_cast<int>(progress.ending));
    Line("because", progress.ending_code).Line("of", progress.ending_step);
    Line("by", progress.ending_signal).Line("undo failed", progress.undo_failed.size());
    Line("priority", progress.origin.priority).Line("key", progress.origin.concurrency_key);
    Line("start", progress.origin.start_at.time_since_epoch().count());
    Line("original", progress.origin.original.value());
  }

  void OneUnit(const Unit& unit) {
    Line("unit", Name(unit.status)).Line(" retry", unit.will_retry).Line(" held", unit.held);
    Line(" settled", unit.settled).Line(" try", unit.logical_attempt);
    Line(" delivery", unit.engine_attempt).Line(" seq", unit.last_seq.value());
    Line(" inputs", unit.inputs).Line(" result", unit.result).Line(" error", unit.error_code);
    Line(" key", unit.idempotency_key).Line(" secret", unit.secret_prefix);
  }

  std::ostringstream out_;
};

}  // namespace everstep
