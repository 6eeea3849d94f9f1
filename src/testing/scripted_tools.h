#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "run/tool.h"

namespace everstep {

// Tools controlled by the test. `noop` and `echo` complete immediately; tasks of all other kinds
// stay open until the test finishes them.
class ScriptedTools final : public ToolBox {
 public:
  bool Has(std::string_view kind) const override { return !missing.contains(std::string(kind)); }
  bool Immediate(std::string_view kind) const override { return kind == "noop" || kind == "echo"; }
  TaskOutcome RunNow(const Task& task) override {
    immediate.push_back(task);
    return TaskOutcome::Success(task.kind == "echo" ? task.inputs : std::string());
  }
  void Start(Task task, TaskReports& reports) override {
    reports_ = &reports;
    started.push_back(task);
    open.emplace(task.id.step_id, std::move(task));
  }
  void Cancel(const TaskId& task, bool force) override { cancelled.emplace_back(task, force); }
  bool WaitsForWorker(std::string_view kind) const override {
    return queued.contains(std::string(kind));
  }
  std::string WhyWaiting(const TaskId& task) const override {
    return task.step_id == waiting_step ? "waits for a worker" : "";
  }
  void Flush() override { ++flushes; }
  std::uint32_t Slots(std::string_view kind) const override {
    const auto found = slots.find(std::string(kind));
    return found == slots.end() ? 0 : found->second;
  }
  std::vector<std::string> Kinds() const override {
    return {"noop", "echo", "merge", "sleep", "http", "shell", "python", "sqlite"};
  }

  // Finishes the open task of this step with `outcome`.
  void Finish(const std::string& step_id, TaskOutcome outcome) {
    const auto task = open.find(step_id);
    EVERSTEP_ASSERT(task != open.end());
    const TaskId id = task->second.id;
    open.erase(task);
    reports_->Finished(id, std::move(outcome));
  }
  void Report(const TaskId& task, TaskOutcome outcome) {
    reports_->Finished(task, std::move(outcome));
  }
  void Report(const TaskId& task, TaskOutcome outcome, std::function<void(Status)> answer) {
    reports_->Finished(task, std::move(outcome), std::move(answer));
  }
  void Lose(TaskId task) {  // a copy: the caller may pass a reference into `open`
    std::erase_if(open, [&](const auto& entry) { return entry.second.id == task; });
    reports_->Lost(task);
  }
  void Take(const TaskId& task) { reports_->Taken(task); }
  void Beat(const TaskId& task) { reports_->Heartbeat(task); }

  std::multimap<std::string, Task> open;  // by step
  std::vector<Task> started;              // all, in order
  std::vector<Task> immediate;
  std::vector<std::pair<TaskId, bool>> cancelled;
  std::set<std::string> missing;
  std::map<std::string, std::uint32_t> slots;
  std::set<std::string> queued;  // kinds whose tasks wait for a worker
  std::string waiting_step;
  std::uint64_t flushes = 0;

 private:
  TaskReports* reports_ = nullptr;
};

}  // namespace everstep
