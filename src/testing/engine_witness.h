#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "everstep/engine.h"
#include "run/tool.h"
#include "store/state_store.h"
#include "testing/log_checks.h"
#include "testing/run_witness.h"
#include "testing/simulated_workers.h"

namespace everstep {

// Judges an engine from outside. It knows only what became durable, what workers were asked to do
// and which answers callers got. It reports every fault at once.
class EngineWitness {
 public:
  using Tell = std::function<void(const std::string&)>;

  // `engine_attempts_max` must match the engine's configuration.
  EngineWitness(Tell tell, std::uint32_t engine_attempts_max)
      : tell_(std::move(tell)), engine_attempts_max_(engine_attempts_max) {}

  void Watch(const SimulatedWorkers& workers) { workers_ = &workers; }
  // Declares that the engine was given the plan `given` in place of `real`.
  void KnowPlan(const std::string& given, const std::string& real);

  // The disk acknowledged a write. `store` is used to look up plans.
  void Committed(std::span<const RunChange* const> changes, StateStore& store, Timestamp now);
  // A worker was asked, began, or ended its task (also when it was stopped by force).
  void Dispatched(const Task& task);
  void Taken(const TaskId& task) { taken_.insert(task); }
  void Reported(const TaskId& task);
  // A process died, and `store` is what survived: everything acknowledged, and perhaps one more
  // write.
  void Survived(StateStore& store);
  void ProcessStarted(std::set<std::string> missing_tools);

  // Answers of the engine.
  void AnsweredStart(const std::string& run_id);
  void AnsweredSignal(const std::string& run_id, const SignalDecision& decision);
  void AnsweredDelivery(const std::string& run_id, const std::string& delivery_id);

  void AnsweredReport(const TaskId& task, const Status& status);

  void NotAnswered(const std::string& what) { Wrong(what + " was never answered"); }

  // Requires: the engine is idle and no write failed. Checks that this process dispatched every
  // task that runs according to the log.
  void CheckOwed();
  // Checks that what the engine shows of a run matches its log.
  void CheckView(const RunView& view);
  void CheckWhy(const Explanation& why);

  const std::map<RunId, std::unique_ptr<RunWitness>>& runs() const { return runs_; }
  const RunWitness* Find(const RunId& run_id) const;
  std::uint64_t events() const { return events_; }
  std::uint64_t redeliveries() const { return redeliveries_; }
  std::uint64_t undone() const { return undone_; }

 private:
  using AttemptKey = std::tuple<RunId, std::string, std::uint32_t>;
  using Place = std::pair<std::string, std::string>;  // the kind of limit and its name

  void Take(const RunId& run_id, const Event& event, StateStore& store, Timestamp now);
  void CheckReport(const RunWitness& run, const Event& event);
  void CheckChild(const Event& event);
  static std::size_t Capacity(const Place& place);
  bool IsFull(const Place& place) const;
  void TakePlaces(const RunWitness& run, const TaskId& task);
  void LeavePlaces(const RunWitness& run, const std::string& unit_id);
  std::vector<Place> PlacesOf(const RunWitness& run, const UnitKey& key) const;
  std::shared_ptr<const Plan> PlanOf(const Event& queued, StateStore& store);
  void Wrong(const std::string& what) { tell_(what); }

  const Tell tell_;
  const std::uint32_t engine_attempts_max_;
  const SimulatedWorkers* workers_ = nullptr;
  std::map<std::string, std::string> real_plans_;             // by the text the engine was given
  std::map<std::string, std::shared_ptr<const Plan>> plans_;  // by sha256
  std::map<RunId, std::unique_ptr<RunWitness>> runs_;
  // What occupies places in this process: a task leaves when its worker or the log says that it
  // ended, whichever is first.
  std::map<Place, std::set<std::pair<RunId, std::string>>> places_;
  std::set<TaskId> dispatched_;
  std::set<TaskId> ended_;                                           // according to the log
  std::set<TaskId> taken_;                                           // by a worker
  std::set<TaskId> dispatched_here_;                                 // by this process
  std::map<AttemptKey, std::pair<std::string, std::string>> asked_;  // key and inputs
  std::set<std::string> missing_tools_;
  std::uint64_t events_ = 0;
  std::uint64_t redeliveries_ = 0;
  std::uint64_t undone_ = 0;
};

}  // namespace everstep
