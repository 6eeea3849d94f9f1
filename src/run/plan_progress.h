#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "event/event.h"
#include "everstep/result.h"
#include "flow/plan.h"
#include "flow/value.h"
#include "machine/state.h"
#include "run/unit.h"

namespace everstep {

// Why and how a run was asked for: the content of RunQueued.
struct RunOrigin {
  RunScope scope;
  std::string inputs;  // JSON object
  std::string uri;     // of the plan
  std::string request_id;
  std::string triggered_by;
  std::string trigger_source;
  std::string traceparent;
  std::string tracestate;
  std::int32_t priority = 0;
  std::string concurrency_key;
  std::uint64_t queue_position = 0;
  Timestamp queued_at{};  // its place among those that wait; unset: it did not have to
  Timestamp start_at{};
  RunId parent;
  std::string parent_step;
  RunId original;                               // of RETRY_RUN
  std::map<std::string, std::string> children;  // plan reference -> sha256
};

// What two orders with the same id must agree on.
Sha256Digest SignalBody(std::string_view type, const Value& payload);

// How far a run of a plan has come: a fold over the run's log. Changes only in Apply, one event at
// a time, and an event costs its dependants, not the plan.
struct PlanProgress {
  enum class Ending : std::uint8_t { kNone, kFailing, kCancelling };

  struct Dependencies {
    std::uint32_t open = 0;
    std::uint32_t through = 0;
    bool failed = false;
    std::string skip_code;  // of one that was skipped
  };
  struct Loop {
    ValueList items;
    std::vector<Unit> units;
    std::set<std::uint32_t> again;  // items whose next attempt may start
    std::uint32_t next = 0;         // the first that has not begun
    std::uint32_t running = 0;
    std::uint32_t unsettled = 0;  // begun and not at their end for good
    std::uint32_t done = 0;       // at their end for good
    std::uint32_t failed = 0;
    bool stopped = false;  // an item failed for good: no item begins any more

    void SkipBegun();  // `next` moves on to the first that has not begun
    bool Over() const { return stopped ? running == 0 : next >= units.size() && unsettled == 0; }
  };
  // Where a step stands among those that are ready: by priority, then in the order written.
  struct Place {
    std::int32_t behind = 0;  // what is less urgent comes later
    StepIndex step = kNoStep;

    auto operator<=>(const Place&) const = default;
  };
  struct OpenWait {
    Timestamp due_at{};
    EventSeq seq;
  };
  struct OpenHook {
    std::string token;
    EventSeq seq;
  };
  // An order that was decided.
  struct Decided {
    Sha256Digest body{};  // of type and payload
    bool accepted = false;
    EventSeq seq;
    std::string decision;
    std::string code;
    std::string reason;
  };
  struct OpenChild {
    std::string unit_id;
    EventSeq seq;
  };

  explicit PlanProgress(std::shared_ptr<const Plan> of);

  void Apply(const Event& event);

  // A unit that waits for a slot or a tool is not looked at meanwhile. That is of the process, not
  // of the log: a run that is folded again has all of them back.
  void SetAside(const UnitKey& key);
  void PutBack(const UnitKey& key);

  // What was decided of an order with this id; null: nothing. kSignalDuplicate: of another order.
  Result<const Decided*> FindSignal(const std::string& signal_id, std::string_view type,
                                    const Value& payload) const;

  // The step failed, and its fallback runs or stands for it.
  bool FellBack(StepIndex step) const;

  Unit* Find(const UnitKey& key);
  const Unit* Find(const UnitKey& key) const;

  const std::shared_ptr<const Plan> plan;

  RunStatus status = RunStatus::kAbsent;
  RunOrigin origin;
  Value inputs;  // with what UPDATE_PARAMS changed
  EventSeq last_seq;
  EventSeq status_seq;   // of the event that set the status
  EventSeq started_seq;  // of RunStarted
  Timestamp created_at{};
  Timestamp started_at{};
  Timestamp completed_at{};
  Timestamp paused_at{};
  std::string result;  // JSON
  std::string error_code;
  std::string error_message;
  std::string pause_reason;

  std::vector<Unit> steps;  // by StepIndex
  std::vector<Dependencies> dependencies;
  std::unordered_map<StepIndex, Loop> loops;
  std::map<UnitKey, Unit> undo;
  std::uint32_t open_steps = 0;  // not settled
  std::set<UnitKey> held;
  std::set<UnitKey> running;      // begun, not ended: tools, waits, hooks, children, loops
  std::set<Place> ready;          // dependencies have ended, not begun
  std::set<StepIndex> doomed;     // the same, and one of them failed
  std::set<UnitKey> retry_ready;  // steps and undo units whose next attempt may start
  std::set<StepIndex> loops_open;
  std::set<StepIndex> loops_changed;  // may have an item to begin or be over; whoever looked erases
  std::vector<bool> fallback_needed;  // of steps that are fallbacks
  std::map<std::string, OpenWait, std::less<>> waits;
  std::map<std::string, OpenHook, std::less<>> hooks;
  std::map<std::string, OpenChild, std::less<>> children;
  std::set<std::string> hook_conflicts;
  std::map<std::string, Decided, std::less<>> signals;  // by signal id
  std::map<std::string, Value, std::less<>> overrides;  // by unit id, for the next attempt
  std::map<std::string, Value, std::less<>> targets;    // by unit id, for all attempts to come
  std::vector<UnitKey> succeeded;  // what can be undone, in order; undo goes back along it

  Ending ending = Ending::kNone;
  EventSeq ending_seq;
  std::string ending_code;
  std::string ending_message;
  std::string ending_step;
  std::string ending_signal;
  std::vector<std::string> undo_failed;

 private:
  enum class Came : std::uint8_t { kThrough, kSkipped, kFailed };

  void ApplyRunEvent(const Event& event);
  void ApplyQueued(const Event& event);
  void ApplyStepEvent(const Event& event);
  void ApplyStarted(const UnitKey& key, Unit& unit, const Event& event);
  void ApplyLoopStarted(StepIndex step, const Event& event);
  void ApplyCompleted(const UnitKey& key, Unit& unit, const Event& event);
  void ApplyFailed(const UnitKey& key, Unit& unit, const Event& event);
  void ApplyStepFailedForGood(StepIndex step, Unit& unit, const Event& event);
  void ApplySkipped(const UnitKey& key, Unit& unit, const Event& event);
  void EndItem(const UnitKey& key, Unit& unit, bool success);
  Place PlaceOf(StepIndex step) const { return {-plan->steps[step].action.priority, step}; }
  void ApplyWaitEvent(const Event& event);
  void ApplyHookEvent(const Event& event);
  void ApplyChildEvent(const Event& event);
  void ApplySignal(const Event& event);
  void ApplyError(const Event& event);
  void AskForRetry(const UnitKey& key);
  void BeginEnding(Ending how, const Event& event, std::string code, std::string message);
  void Settle(StepIndex step, Came came, const std::string& code);
  void SettleFallbacks(StepIndex step, Came came);
};

}  // namespace everstep
