#include "testing/simulated_workers.h"

#include <algorithm>
#include <utility>

namespace everstep {
namespace {

std::string NameOf(const TaskId& task) {
  return task.run_id.value() + "/" + task.step_id + "/" + std::to_string(task.logical_attempt) +
         "/" + std::to_string(task.engine_attempt);
}

std::string Mark(const TaskOutcome& outcome) {
  return outcome.succeeded ? outcome.result : "!" + outcome.error_code;
}

}  // namespace

class SimulatedWorkers::Tools final : public ToolBox {
 public:
  Tools(SimulatedWorkers& workers, std::set<std::string> missing)
      : workers_(workers), missing_(std::move(missing)) {}

  bool Has(std::string_view kind) const override { return !missing_.contains(std::string(kind)); }
  bool Immediate(std::string_view kind) const override { return IsImmediate(kind); }
  bool WaitsForWorker(std::string_view kind) const override { return IsQueued(kind); }
  TaskOutcome RunNow(const Task& task) override { return workers_.RunNow(task); }
  void Start(Task task, TaskReports& reports) override { workers_.Take(std::move(task), reports); }
  void Cancel(const TaskId& task, bool force) override { workers_.Cancel(task, force); }
  std::uint32_t Slots(std::string_view kind) const override { return SlotsOf(kind); }
  std::vector<std::string> Kinds() const override {
    return {"noop", "echo", "http", "shell", "python", "sqlite"};
  }

 private:
  SimulatedWorkers& workers_;
  const std::set<std::string> missing_;
};

std::uint32_t SimulatedWorkers::SlotsOf(std::string_view kind) {
  if (kind == "python") return 1;
  return kind == "shell" ? 2 : 0;
}

std::unique_ptr<ToolBox> SimulatedWorkers::NewProcess(std::set<std::string> missing) {
  ++process_;
  reports_ = nullptr;
  open_.clear();
  return std::make_unique<Tools>(*this, std::move(missing));
}

void SimulatedWorkers::Take(Task task, TaskReports& reports) {
  reports_ = &reports;
  watch_.on_task(task);
  open_.push_back(deliveries_.size());
  deliveries_.push_back({std::move(task), process_});
  if (calm_) Begin(deliveries_.back());
  // Some report before Start returns.
  if (random_.OneIn(6)) {
    open_.pop_back();
    Report(deliveries_.back(), RandomOutcome(deliveries_.back()));
  }
}

TaskOutcome SimulatedWorkers::RunNow(const Task& task) {
  watch_.on_task(task);
  TaskOutcome outcome = Success(task.id);
  if (!calm_ && random_.OneIn(8)) outcome = TaskOutcome::Failure("BROKEN", "it broke", true);
  Remember(task.id, outcome);
  return outcome;
}

void SimulatedWorkers::Cancel(const TaskId& task, bool force) {
  if (force) watch_.on_kill(task);
  for (const std::size_t at : open_) {
    if (deliveries_[at].task.id == task) deliveries_[at].stopped = true;
  }
}

TaskOutcome SimulatedWorkers::Success(const TaskId& task) const {
  return TaskOutcome::Success(R"({"by":")" + NameOf(task) + R"("})");
}

void SimulatedWorkers::Remember(const TaskId& task, const TaskOutcome& outcome) {
  reported_[task].insert(Mark(outcome));
  watch_.on_report(task);
}

const std::set<std::string>& SimulatedWorkers::ReportsOf(const TaskId& task) const {
  static const std::set<std::string> kNone;
  const auto found = reported_.find(task);
  return found == reported_.end() ? kNone : found->second;
}

TaskOutcome SimulatedWorkers::RandomOutcome(const Delivery& delivery) {
  if (delivery.stopped && random_.OneIn(2)) {
    return TaskOutcome::Failure("CANCELLED", "it was asked to stop", false, "USER");
  }
  if (calm_) return Success(delivery.task.id);
  const std::uint64_t draw = random_.Below(10);
  if (draw < 6) return Success(delivery.task.id);
  TaskOutcome outcome = TaskOutcome::Failure("BROKEN", "it broke", draw < 9);
  if (random_.OneIn(5)) outcome.retry_after = Milliseconds(random_.Below(20'000));
  return outcome;
}

void SimulatedWorkers::Report(Delivery& delivery, TaskOutcome outcome) {
  ++delivery.reports;
  if (delivery.process != process_) ++late_reports_;
  Remember(delivery.task.id, outcome);
  if (reports_ == nullptr) return;
  if (random_.OneIn(2)) return reports_->Finished(delivery.task.id, std::move(outcome));
  const std::uint64_t number = ++answers_;
  unanswered_.emplace(number, delivery.task.id);
  reports_->Finished(delivery.task.id, std::move(outcome),
                     [this, number, task = delivery.task.id](const Status& status) {
                       if (unanswered_.erase(number) == 0) return watch_.on_silence(task);
                       watch_.on_answer(task, status);
                     });
}

void SimulatedWorkers::Begin(const Delivery& delivery) {
  watch_.on_take(delivery.task.id);
  if (reports_ != nullptr) reports_->Taken(delivery.task.id);
}

// The engine is notified; a report may still come later.
void SimulatedWorkers::Lose(const Delivery& delivery) {
  watch_.on_kill(delivery.task.id);
  if (reports_ != nullptr) reports_->Lost(delivery.task.id);
}

void SimulatedWorkers::ProcessDied() {
  for (const auto& [number, task] : unanswered_) watch_.on_silence(task);
  unanswered_.clear();
}

bool SimulatedWorkers::Act() {
  if (deliveries_.empty()) return false;
  if (open_.empty() || random_.OneIn(10)) {
    // An unexpected report: a repetition, or of a delivery that was abandoned.
    Delivery& delivery = deliveries_[deliveries_.size() - 1 -
                                     random_.Below(std::min<std::size_t>(deliveries_.size(), 12))];
    std::erase_if(open_, [&](std::size_t at) { return &deliveries_[at] == &delivery; });
    if (random_.OneIn(4)) {
      Lose(delivery);
    } else {
      Report(delivery, RandomOutcome(delivery));
    }
    return true;
  }
  const auto place = open_.begin() + static_cast<std::ptrdiff_t>(random_.Below(open_.size()));
  Delivery& delivery = deliveries_[*place];
  const std::uint64_t draw = random_.Below(20);
  if (draw < 3) {
    if (!delivery.lost && reports_ != nullptr) reports_->Heartbeat(delivery.task.id);
  } else if (draw < 5) {
    if (!delivery.lost) Begin(delivery);
  } else if (draw < 6) {
    open_.erase(place);
    Lose(delivery);
  } else if (draw < 7) {
    lost_ += delivery.lost ? 0 : 1;
    delivery.lost = true;
  } else if (!delivery.lost || random_.OneIn(8)) {
    open_.erase(place);
    const TaskOutcome outcome = RandomOutcome(delivery);
    if (random_.OneIn(8)) Report(delivery, outcome);
    Report(delivery, outcome);
  }
  return true;
}

std::size_t SimulatedWorkers::FinishAll(bool also_lost) {
  std::vector<std::size_t> finished;
  std::erase_if(open_, [&](std::size_t at) {
    if (deliveries_[at].lost && !also_lost) return false;
    finished.push_back(at);
    return true;
  });
  for (const std::size_t at : finished) Report(deliveries_[at], RandomOutcome(deliveries_[at]));
  return finished.size();
}

}  // namespace everstep
