#include "work/sleep_tool.h"

#include <utility>

#include "base/clock.h"
#include "work/inputs.h"

namespace everstep {

SleepTool::SleepTool() : thread_([this] { Loop(); }) {}

SleepTool::~SleepTool() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
  for (auto& [due, sleeper] : sleepers_) sleeper.done(ToolOutcome::Cancelled());
}

void SleepTool::Start(ToolCall call, Done done) {
  Inputs inputs(call.inputs);
  inputs.AllowOnly({"duration"});
  const auto duration = inputs.Duration("duration");
  if (!inputs.Has("duration")) inputs.Fault("duration", "is missing");
  if (!inputs.ok()) return done(ToolOutcome::BadInput(inputs.faults()));
  {
    const std::lock_guard lock(mutex_);
    const auto place =
        sleepers_.emplace(SteadyNow() + *duration, Sleeper{call.id, *duration, std::move(done)});
    by_call_.emplace(call.id, place);
    if (place != sleepers_.begin()) return;
  }
  changed_.notify_one();
}

void SleepTool::Cancel(CallId call, bool /*force*/) {
  Done done;
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_call_.find(call);
    if (found == by_call_.end()) return;
    done = std::move(found->second->second.done);
    sleepers_.erase(found->second);
    by_call_.erase(found);
  }
  done(ToolOutcome::Cancelled());
}

void SleepTool::Loop() {
  std::unique_lock lock(mutex_);
  while (!closing_) {
    if (sleepers_.empty()) {
      changed_.wait(lock, [this] { return closing_ || !sleepers_.empty(); });
      continue;
    }
    const auto first = sleepers_.begin();
    if (first->first > SteadyNow()) {
      // Wait for the first sleeper, but wake up if an earlier one is added.
      const Time due = first->first;
      changed_.wait_until(lock, due, [&] {
        return closing_ || sleepers_.empty() || sleepers_.begin()->first < due;
      });
      continue;
    }
    Sleeper sleeper = std::move(first->second);
    by_call_.erase(sleeper.call);
    sleepers_.erase(first);
    lock.unlock();
    sleeper.done(ToolOutcome::Success(Value::Map(
        ValueMap{{"sleptMs", Value::Int(static_cast<std::int64_t>(sleeper.duration.count()))}})));
    lock.lock();
  }
}

}  // namespace everstep
