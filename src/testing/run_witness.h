#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "event/event.h"
#include "flow/plan.h"
#include "machine/state.h"
#include "run/plan_unit.h"

namespace everstep {

// Judges the log of one run from outside: reads the events in order, knowing the plan, and reports
// each one that breaks a promise of the engine. It has its own fold, deliberately simple and slow,
// so that the engine is not judged by its own code.
class RunWitness {
 public:
  struct Unit {
    EntityStatus status = EntityStatus::kAbsent;
    std::uint32_t logical_attempt = 0;
    std::uint32_t engine_attempt = 0;
    bool will_retry = false;
    bool retry_due = false;     // the backoff is over, or there was none
    bool was_ending = false;    // the run was ending when the unit failed
    bool skip_ordered = false;  // by an operator, as the next three
    bool attempt_ordered = false;
    bool result_ordered = false;  // for the next attempt
    bool result_given = false;    // for the current attempt
    std::uint32_t attempts_ordered = 0;
    std::uint64_t items = 0;  // of a loop
    std::uint32_t items_running = 0;
    std::uint32_t items_begun = 0;
    bool answered = false;      // the wait is over, the hook was received or the child has ended
    std::string answered_with;  // the error code that the hook received; empty: a payload
    Timestamp delivered_at{};
    std::string code;  // of a failure or skip
  };
  using Tell = std::function<void(const std::string&)>;

  // `tell` is called for each fault.
  RunWitness(RunId run_id, std::shared_ptr<const Plan> plan, Tell tell);

  // Processes the next event of the log, which became durable at `now`.
  void Take(const Event& event, Timestamp now);

  const RunId& run_id() const { return run_id_; }
  const std::shared_ptr<const Plan>& plan() const { return plan_; }
  const std::vector<Event>& events() const { return events_; }
  RunStatus status() const { return status_; }
  bool ending() const { return failing_ || cancelling_; }
  bool IsTool(const UnitKey& key) const;
  const Action& ActionOf(const UnitKey& key) const;
  const Unit* Find(std::string_view unit_id) const;
  const std::set<std::string>& running() const { return running_; }
  // Units that failed permanently and wait for an operator.
  std::vector<std::string> Held() const;
  // Tokens of waiting hooks.
  std::vector<std::string> Tokens() const;
  const std::set<std::string>& deliveries() const { return deliveries_; }

 private:
  enum class StepEnd : std::uint8_t { kNone, kSucceeded, kSkipped, kFailed };

  void TakeRun(const Event& event);
  void TakeStep(const Event& event, Timestamp now);
  void TakeStarted(const UnitKey& key, Unit& unit, const Event& event);
  void CheckFirstDelivery(const UnitKey& key, const Unit& unit, const Event& event);
  void CheckOrder(StepIndex step);
  void CheckItem(const UnitKey& key, const Unit& unit);
  void CheckUndo(const UnitKey& key);
  void TakeCompleted(const UnitKey& key, Unit& unit, const Event& event);
  void TakeFailed(const UnitKey& key, Unit& unit, const Event& event, Timestamp now);
  void CheckCause(const UnitKey& key, const Unit& unit, const Event& event, Timestamp now);
  void TakeSkipped(const UnitKey& key, Unit& unit, const Event& event);
  void TakeWait(const Event& event, Timestamp now);
  void TakeHook(const Event& event);
  void TakeChild(const Event& event);
  void TakeSignal(const Event& event);
  void CheckEnd(const Event& event);
  StepEnd EndOf(StepIndex step) const;
  bool IsLoop(const UnitKey& key) const;
  bool FallbackIsGone(const UnitKey& key) const;
  bool UndoIsOver(StepIndex step) const;
  void Wrong(const std::string& what) const;

  const RunId run_id_;
  const std::shared_ptr<const Plan> plan_;
  const Tell tell_;
  std::vector<Event> events_;
  RunStatus status_ = RunStatus::kAbsent;
  std::map<std::string, Unit, std::less<>> units_;
  std::set<std::string> running_;
  std::vector<StepIndex> succeeded_;  // those with a compensation, in order
  std::map<std::string, Timestamp> waits_;
  std::map<std::string, std::string> hooks_;     // id -> token
  std::map<std::string, std::string> children_;  // run -> unit
  std::set<std::string> deliveries_;
  std::set<std::string> delivered_;  // the same, by unit and without the attempt
  bool failing_ = false;
  bool cancelling_ = false;
  bool emergency_ = false;
};

}  // namespace everstep
