#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "run/tool.h"

namespace everstep {

// The workers of a simulated world. They outlive the engine's processes: a report may come late,
// twice, or to a process that did not ask for it. Not thread-safe.
class SimulatedWorkers {
 public:
  struct Delivery {
    Task task;
    std::uint64_t process = 0;  // the one that asked for it
    std::uint32_t reports = 0;
    bool lost = false;  // its worker is gone without notice
    bool stopped = false;
  };
  // Observes every task that a worker is asked to do, every report and every forced stop, before it
  // takes effect.
  struct Watch {
    std::function<void(const Task&)> on_task;
    std::function<void(const TaskId&)> on_take;  // a worker has begun
    std::function<void(const TaskId&)> on_report;
    std::function<void(const TaskId&)> on_kill;  // stopped by force, or reported lost
    std::function<void(const TaskId&, const Status&)> on_answer;  // to a report
    std::function<void(const TaskId&)> on_silence;  // its process died without answering
  };

  SimulatedWorkers(SeededRandom& random, Watch watch) : random_(random), watch_(std::move(watch)) {}

  // The tools of a new process. Only one process at a time.
  std::unique_ptr<ToolBox> NewProcess(std::set<std::string> missing);
  void ProcessDies() { reports_ = nullptr; }
  void ProcessDied();

  // Performs a random action on some delivery. Returns false if no task was ever dispatched.
  bool Act();
  // Reports every unreported delivery of this process as a success, with `also_lost` including
  // those whose workers were gone. Returns how many there were. Requires: calm.
  std::size_t FinishAll(bool also_lost);
  // Turns faults of workers off or on.
  void SetCalm(bool calm) { calm_ = calm; }

  static std::uint32_t SlotsOf(std::string_view kind);
  static bool IsImmediate(std::string_view kind) { return kind == "noop" || kind == "echo"; }
  // Whether tasks of this kind first wait for a worker.
  static bool IsQueued(std::string_view kind) { return kind == "http"; }
  // What workers reported for this delivery; empty if nothing yet. Failures as "!CODE".
  const std::set<std::string>& ReportsOf(const TaskId& task) const;
  std::uint64_t late_reports() const { return late_reports_; }
  std::uint64_t lost() const { return lost_; }

 private:
  class Tools;

  void Take(Task task, TaskReports& reports);
  TaskOutcome RunNow(const Task& task);
  void Cancel(const TaskId& task, bool force);
  TaskOutcome RandomOutcome(const Delivery& delivery);
  void Report(Delivery& delivery, TaskOutcome outcome);
  void Begin(const Delivery& delivery);
  void Lose(const Delivery& delivery);
  TaskOutcome Success(const TaskId& task) const;
  void Remember(const TaskId& task, const TaskOutcome& outcome);

  SeededRandom& random_;
  const Watch watch_;
  std::vector<Delivery> deliveries_;
  std::vector<std::size_t> open_;  // of this process, not yet reported
  std::map<TaskId, std::set<std::string>> reported_;
  std::map<std::uint64_t, TaskId> unanswered_;
  std::uint64_t answers_ = 0;  // requested
  TaskReports* reports_ = nullptr;
  std::set<std::string> missing_;
  std::uint64_t process_ = 0;
  std::uint64_t late_reports_ = 0;
  std::uint64_t lost_ = 0;
  bool calm_ = false;
};

}  // namespace everstep
