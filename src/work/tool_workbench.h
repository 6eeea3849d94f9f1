#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "work/local_tool_box.h"

namespace everstep {

// Collects reports and lets a test wait for them. Aborts on a second report of the same task.
class CollectedReports final : public TaskReports {
 public:
  void Finished(const TaskId& task, TaskOutcome outcome) override {
    const std::lock_guard lock(mutex_);
    EVERSTEP_ASSERT(outcomes_.emplace(task, std::move(outcome)).second);
    changed_.notify_all();
  }
  void Finished(const TaskId& task, TaskOutcome outcome,
                std::function<void(Status)> answer) override {
    Finished(task, std::move(outcome));
    answer(Ok());
  }
  void Lost(const TaskId& task) override { Finished(task, TaskOutcome::Failure("LOST", {}, true)); }
  void Taken(const TaskId& /*task*/) override {}
  void Heartbeat(const TaskId& /*task*/) override {
    const std::lock_guard lock(mutex_);
    ++beats_;
    changed_.notify_all();
  }

  TaskOutcome WaitFor(const TaskId& task) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return outcomes_.contains(task); });
    return outcomes_.at(task);
  }
  void WaitForBeat() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return beats_ > 0; });
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return outcomes_.size();
  }
  bool Has(const TaskId& task) {
    const std::lock_guard lock(mutex_);
    return outcomes_.contains(task);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<TaskId, TaskOutcome> outcomes_;
  std::uint64_t beats_ = 0;
};

// A tool box in a directory of the test, with helpers for tests.
class ToolWorkbench {
 public:
  explicit ToolWorkbench(const std::string& directory) {
    options.tools.artifact_directory = directory + "/artifacts";
    options.environment = [this](std::string_view name) -> std::optional<std::string> {
      const auto found = environment.find(std::string(name));
      if (found == environment.end()) return std::nullopt;
      return found->second;
    };
    auto secrets = std::make_shared<Secrets>();
    secrets->Add("env",
                 std::make_unique<EnvironmentSecrets>(options.environment, SecretVariables::All()));
    options.secrets = std::move(secrets);
  }

  // Must not be changed after the first use of the box.
  LocalToolBoxOptions options;
  std::map<std::string, std::string> environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", "/"}};
  CollectedReports reports;

  LocalToolBox& box() {
    if (box_ == nullptr) box_ = std::make_unique<LocalToolBox>(options, SystemClock());
    return *box_;
  }
  void CloseBox() { box_.reset(); }

  Task NewTask(std::string kind, std::string inputs) {
    Task task;
    task.id = {RunId("run-1"), "step-" + std::to_string(++steps_), 1, 1};
    task.kind = std::move(kind);
    task.inputs = std::move(inputs);
    task.idempotency_key = "key-" + task.id.step_id;
    task.scope.tenant_id = "default";
    return task;
  }
  TaskId Start(Task task) {
    TaskId id = task.id;
    box().Start(std::move(task), reports);
    return id;
  }
  TaskId Start(std::string kind, std::string inputs) {
    return Start(NewTask(std::move(kind), std::move(inputs)));
  }
  TaskOutcome Run(Task task) { return reports.WaitFor(Start(std::move(task))); }
  TaskOutcome Run(std::string kind, std::string inputs) {
    return Run(NewTask(std::move(kind), std::move(inputs)));
  }

 private:
  std::uint64_t steps_ = 0;
  std::unique_ptr<LocalToolBox> box_;
};

// Returns the result, or the details of a failure, as a value.
inline Value ResultOf(const TaskOutcome& outcome) {
  const std::string& json = outcome.succeeded ? outcome.result : outcome.details;
  auto value = ValueFromJson(json.empty() ? "null" : json);
  EVERSTEP_ASSERT(value.has_value());
  return *std::move(value);
}

}  // namespace everstep
