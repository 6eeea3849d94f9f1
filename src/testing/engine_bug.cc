#include "testing/engine_bug.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "base/assert.h"
#include "run/run_progress.h"
#include "run/state_codec.h"
#include "testing/forwarding_store.h"

namespace everstep {
namespace {

struct BugName {
  EngineBug bug;
  std::string_view name;
};
constexpr BugName kNames[] = {
    {EngineBug::kNone, "none"},
    {EngineBug::kDispatchesEarly, "dispatches-early"},
    {EngineBug::kStartsTwice, "starts-twice"},
    {EngineBug::kForgetsRedelivery, "forgets-redelivery"},
    {EngineBug::kForgetsActiveRuns, "forgets-active-runs"},
    {EngineBug::kTellsNoTimers, "tells-no-timers"},
    {EngineBug::kClockRunsAhead, "clock-runs-ahead"},
    {EngineBug::kFollowsLeaps, "follows-leaps"},
    {EngineBug::kTakesOldReports, "takes-old-reports"},
    {EngineBug::kChangesKeys, "changes-keys"},
    {EngineBug::kKeepsOldCheckpoints, "keeps-old-checkpoints"},
    {EngineBug::kIgnoresSlots, "ignores-slots"},
    {EngineBug::kIgnoresDependencies, "ignores-dependencies"},
    {EngineBug::kIgnoresConcurrencyKeys, "ignores-concurrency-keys"},
    {EngineBug::kIgnoresLoopBounds, "ignores-loop-bounds"},
    {EngineBug::kRetriesTooOften, "retries-too-often"},
    {EngineBug::kForgetsCompensation, "forgets-compensation"},
};

// Selects one run in three.
bool IsUnlucky(const RunId& run_id) {
  std::uint32_t sum = 0;
  for (const char c : run_id.value()) sum = sum * 31 + static_cast<unsigned char>(c);
  return sum % 3 == 0;
}

class PlantedTools final : public ToolBox, private TaskReports {
 public:
  PlantedTools(EngineBug bug, std::unique_ptr<ToolBox> tools)
      : bug_(bug), tools_(std::move(tools)) {}

  bool Has(std::string_view kind) const override { return tools_->Has(kind); }
  bool Immediate(std::string_view kind) const override { return tools_->Immediate(kind); }
  TaskOutcome RunNow(const Task& task) override { return tools_->RunNow(task); }
  std::vector<std::string> Kinds() const override { return tools_->Kinds(); }
  bool WaitsForWorker(std::string_view kind) const override { return tools_->WaitsForWorker(kind); }
  std::uint32_t Slots(std::string_view kind) const override {
    return bug_ == EngineBug::kIgnoresSlots ? 0 : tools_->Slots(kind);
  }
  void Cancel(const TaskId& task, bool force) override { tools_->Cancel(task, force); }

  void Start(Task task, TaskReports& reports) override {
    reports_ = &reports;
    if (bug_ == EngineBug::kForgetsRedelivery && task.id.engine_attempt > 1) return;
    if (bug_ == EngineBug::kChangesKeys) {
      task.idempotency_key += "-" + std::to_string(task.id.engine_attempt);
    }
    if (bug_ == EngineBug::kTakesOldReports) {
      newest_[{task.id.run_id, task.id.step_id, task.id.logical_attempt}] = task.id.engine_attempt;
      tools_->Start(std::move(task), *this);
      return;
    }
    if (bug_ == EngineBug::kStartsTwice) tools_->Start(task, reports);
    tools_->Start(std::move(task), reports);
  }

 private:
  void Finished(const TaskId& task, TaskOutcome outcome) override {
    reports_->Finished(NewestOf(task), std::move(outcome));
  }
  void Finished(const TaskId& task, TaskOutcome outcome,
                std::function<void(Status)> answer) override {
    reports_->Finished(NewestOf(task), std::move(outcome), std::move(answer));
  }
  void Lost(const TaskId& task) override { reports_->Lost(task); }
  void Taken(const TaskId& task) override { reports_->Taken(task); }
  void Heartbeat(const TaskId& task) override { reports_->Heartbeat(task); }

  TaskId NewestOf(TaskId task) const {
    const auto newest = newest_.find({task.run_id, task.step_id, task.logical_attempt});
    if (newest != newest_.end()) task.engine_attempt = newest->second;
    return task;
  }

  const EngineBug bug_;
  const std::unique_ptr<ToolBox> tools_;
  TaskReports* reports_ = nullptr;
  std::map<std::tuple<RunId, std::string, std::uint32_t>, std::uint32_t> newest_;
};

class PlantedReader final : public ForwardingReader {
 public:
  using ForwardingReader::ForwardingReader;

  Result<std::vector<Timer>> TimersDue(const TimerQuery& query) override {
    auto timers = ForwardingReader::TimersDue(query);
    if (timers) std::erase_if(*timers, [](const Timer& timer) { return IsUnlucky(timer.run_id); });
    return timers;
  }
};

class PlantedEngineStore final : public ForwardingStore {
 public:
  PlantedEngineStore(EngineBug bug, std::unique_ptr<StateStore> store)
      : ForwardingStore(std::move(store)), bug_(bug) {}

  std::unique_ptr<StateReader> Read() override {
    auto reader = ForwardingStore::Read();
    if (bug_ != EngineBug::kTellsNoTimers) return reader;
    return std::make_unique<PlantedReader>(std::move(reader));
  }
  Status Commit(std::span<const RunChange* const> changes,
                std::span<const TenantDocument* const> documents) override {
    std::deque<TenantDocument> aged;
    std::vector<const TenantDocument*> written_documents(documents.begin(), documents.end());
    for (const TenantDocument*& document : written_documents) {
      const bool is_new = document->key.kind == DocumentKind::kCheckpoint && document->text;
      if (bug_ != EngineBug::kKeepsOldCheckpoints || !is_new) continue;
      document = &aged.emplace_back(*document);
      aged.back().text = Aged(document->key.name, *document->text);
    }
    const Status written = ForwardingStore::Commit(changes, written_documents);
    return bug_ == EngineBug::kDispatchesEarly ? Ok() : written;
  }
  Status VisitActive(const std::function<Status(const StoredRun&)>& visit) override {
    if (bug_ != EngineBug::kForgetsActiveRuns) return ForwardingStore::VisitActive(visit);
    return ForwardingStore::VisitActive(
        [&](const StoredRun& run) { return IsUnlucky(run.run_id) ? Ok() : visit(run); });
  }

 private:
  // The first checkpoint of the run, with the position of this one.
  std::string Aged(const std::string& name, const std::string& text) {
    const std::string& first = first_checkpoints_.emplace(name, text).first->second;
    std::uint32_t version = 0;
    RunProgress now;
    StateDecoder of_now(text);
    of_now(version, now);
    RunProgress then;
    StateDecoder of_then(first);
    of_then(version, then);
    then.last_seq = now.last_seq;
    std::string aged;
    StateEncoder codec(aged);
    codec(version, then);
    return aged.append(of_then.rest());
  }

  const EngineBug bug_;
  std::map<std::string, std::string> first_checkpoints_;
};

class PlantedClock final : public Clock {
 public:
  PlantedClock(EngineBug bug, Clock& clock) : bug_(bug), clock_(clock) {}
  Timestamp Now() override {
    const Timestamp now = clock_.Now();
    return bug_ == EngineBug::kClockRunsAhead ? now + std::chrono::seconds(2) : now;
  }

 private:
  const EngineBug bug_;
  Clock& clock_;
};

}  // namespace

std::string_view Name(EngineBug bug) {
  const auto* const known = std::ranges::find(kNames, bug, &BugName::bug);
  EVERSTEP_ASSERT(known != std::end(kNames));
  return known->name;
}

std::optional<EngineBug> EngineBugNamed(std::string_view name) {
  const auto* const known = std::ranges::find(kNames, name, &BugName::name);
  if (known == std::end(kNames)) return std::nullopt;
  return known->bug;
}

PlanOmission OmissionOf(EngineBug bug) {
  switch (bug) {
    case EngineBug::kIgnoresDependencies:
      return PlanOmission::kDependencies;
    case EngineBug::kIgnoresConcurrencyKeys:
      return PlanOmission::kConcurrencyKeys;
    case EngineBug::kIgnoresLoopBounds:
      return PlanOmission::kLoopBounds;
    case EngineBug::kRetriesTooOften:
      return PlanOmission::kAttemptLimits;
    case EngineBug::kForgetsCompensation:
      return PlanOmission::kCompensation;
    default:
      return PlanOmission::kNone;
  }
}

std::unique_ptr<ToolBox> PlantInTools(EngineBug bug, std::unique_ptr<ToolBox> tools) {
  return std::make_unique<PlantedTools>(bug, std::move(tools));
}

std::unique_ptr<StateStore> PlantInStore(EngineBug bug, std::unique_ptr<StateStore> store) {
  return std::make_unique<PlantedEngineStore>(bug, std::move(store));
}

std::unique_ptr<Clock> PlantInClock(EngineBug bug, Clock& clock) {
  return std::make_unique<PlantedClock>(bug, clock);
}

}  // namespace everstep
