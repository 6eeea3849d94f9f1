#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "base/random.h"
#include "work/remote_work.h"

namespace everstep {

// Stands in for the engine in tests. Reports become durable when the test calls Commit.
class HeldReports final : public TaskReports {
 public:
  struct Report {
    TaskId task;
    TaskOutcome outcome;
    std::function<void(Status)> answer;
  };
  void Finished(const TaskId& task, TaskOutcome outcome) override {
    finished.push_back({task, std::move(outcome), nullptr});
  }
  void Finished(const TaskId& task, TaskOutcome outcome,
                std::function<void(Status)> answer) override {
    finished.push_back({task, std::move(outcome), std::move(answer)});
  }
  void Lost(const TaskId& task) override { lost.push_back(task); }
  void Taken(const TaskId& task) override { taken.push_back(task); }
  void Heartbeat(const TaskId& task) override { beats.push_back(task); }

  std::vector<Report> finished;
  std::vector<TaskId> lost;
  std::vector<TaskId> taken;
  std::vector<TaskId> beats;
};

// Local tools that only consist of `echo`.
class EchoOnly final : public ToolBox {
 public:
  bool Has(std::string_view kind) const override { return kind == "echo"; }
  bool Immediate(std::string_view kind) const override { return kind == "echo"; }
  TaskOutcome RunNow(const Task& task) override { return TaskOutcome::Success(task.inputs); }
  void Start(Task task, TaskReports& reports) override {
    reports.Finished(task.id, TaskOutcome::Success("\"local\""));
  }
  void Cancel(const TaskId&, bool) override {}
  std::uint32_t Slots(std::string_view) const override { return 3; }
  std::vector<std::string> Kinds() const override { return {"echo"}; }
};

// RemoteWork with helpers for the engine's side and the workers' side.
class RemoteWorkbench {
 public:
  struct Answer {
    std::optional<Result<PollAnswer>> given;

    bool waits() const { return !given; }
    const PollAnswer& get() const {
      EVERSTEP_ASSERT(given && *given);
      return **given;
    }
    const LentTask& task(std::size_t i = 0) const { return get().tasks.at(i); }
  };

  RemoteWorkbench(Clock& clock, const std::string& directory) : clock_(clock) {
    options_.threads = false;
    options_.artifact_directory = directory + "/artifacts";
    Open();
  }
  void Open() {
    work_.reset();
    auto secrets = std::make_shared<Secrets>();
    secrets->Add("env", std::make_unique<EnvironmentSecrets>(
                            [](std::string_view name) -> std::optional<std::string> {
                              if (name == "PASSWORD") return "hunter22";
                              return std::nullopt;
                            },
                            SecretVariables::All()));
    work_ = std::make_unique<RemoteWork>(std::make_unique<EchoOnly>(), std::move(secrets), clock_,
                                         random_, options_);
  }

  std::string Register(WorkerSpec spec) {
    auto id = work_->Register(std::move(spec));
    EVERSTEP_ASSERT(id);
    return *id;
  }
  std::string RegisterFor(const std::string& kind, std::uint32_t slots = 10) {
    return Register({"t1", "w", {kind}, {}, slots});
  }

  static Task TaskOf(const std::string& step, const std::string& kind = "train") {
    Task task;
    task.id = {RunId("run-1"), step, 1, 1};
    task.kind = kind;
    task.queue = kind;
    task.scope.tenant_id = "t1";
    task.inputs = R"({"n":1})";
    return task;
  }
  // Starts tasks as a lane does after a commit.
  void Start(std::vector<Task> tasks) {
    for (Task& task : tasks) work_->Start(std::move(task), reports_);
    work_->Flush();
  }
  void Start(const std::string& step) { Start(std::vector<Task>{TaskOf(step)}); }

  std::shared_ptr<Answer> Poll(PollRequest request) {
    auto answer = std::make_shared<Answer>();
    work_->Poll(std::move(request), [answer](Result<PollAnswer> given) {
      EVERSTEP_ASSERT(answer->waits());  // must be answered only once
      answer->given.emplace(std::move(given));
    });
    return answer;
  }
  static PollRequest RequestOf(const std::string& worker, std::uint32_t tasks_max = 10,
                               std::chrono::milliseconds wait = std::chrono::seconds(20)) {
    PollRequest request;
    request.tenant_id = "t1";
    request.worker_id = worker;
    request.tasks_max = tasks_max;
    request.wait = wait;
    return request;
  }
  std::shared_ptr<Answer> Poll(const std::string& worker, std::uint32_t tasks_max = 10) {
    return Poll(RequestOf(worker, tasks_max));
  }
  std::shared_ptr<Answer> Report(const std::string& worker, const std::string& token,
                                 TaskOutcome outcome = TaskOutcome::Success("1")) {
    PollRequest request = RequestOf(worker);
    request.reports.push_back({token, std::move(outcome)});
    return Poll(std::move(request));
  }
  // Answers all collected reports with `status` and flushes, as a commit does.
  void Commit(const Status& status = Ok()) {
    auto reports = std::exchange(reports_.finished, {});
    for (auto& report : reports) {
      if (report.answer) report.answer(status);
    }
    work_->Flush();
  }
  static std::string StepsOf(const Answer& answer) {
    std::string steps;
    for (const LentTask& lent : answer.get().tasks) steps += lent.task.id.step_id + " ";
    return steps;
  }
  QueueView Queue(const std::string& name) {
    for (const QueueView& view : work_->Queues("t1")) {
      if (view.queue == name) return view;
    }
    return {};
  }

  Clock& clock_;
  SeededRandom random_{1};
  RemoteWorkOptions options_;
  HeldReports reports_;
  std::unique_ptr<RemoteWork> work_;
};

}  // namespace everstep
