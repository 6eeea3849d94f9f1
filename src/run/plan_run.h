#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "event/event.h"
#include "everstep/engine.h"
#include "run/plan_progress.h"
#include "run/tool.h"
#include "run/unit.h"

namespace everstep {

// A run that a step starts and waits for.
struct ChildOrder {
  RunId run_id;
  std::string plan_sha256;
  RunOrigin origin;
};

// Intents that follow from events. They leave the process when the events are durable, and not
// before; what is lost with the process is told again from the log (PlanRun::Recover).
struct Effects {
  std::vector<Task> dispatch;
  struct Stop {
    TaskId task;
    bool force = false;
  };
  std::vector<Stop> stop;
  std::vector<ChildOrder> children;
  std::vector<RunId> cancel_children;
  std::vector<UnitKey> freed_slots;                      // also of asks that are withdrawn
  std::vector<std::pair<Timestamp, std::string>> armed;  // waits, by id
  std::vector<Alert> alerts;
  bool start_due = false;  // a run that was to start later may start now
  // Hooks with a token of the plan's own: the log may have recorded a conflict instead.
  std::vector<std::pair<std::string, std::string>> reserved;  // token, hook id
};

// Whether a unit that is ready may run now. One that may not is told later (SlotGranted).
class StartGate {
 public:
  virtual ~StartGate() = default;
  virtual bool MayStart(const UnitKey& key, const Action& action,
                        const std::string& concurrency_key) = 0;
};

// An operator's order that passed the checks of signal_rules.h.
struct SignalOrder {
  std::string signal_id;
  std::string type;
  Value payload;       // a map
  std::string record;  // the decision record: payload of SignalAccepted
  std::string reason;
};

// Why an order that was well formed is refused in this state of the run.
struct OrderRefusal {
  ErrorCode code;
  std::string message;
};

// One run of a plan, deciding. It writes the events that follow from an order and folds them into
// its progress at once, so that a run that is read back from its log stands where the one that
// wrote it stood. A decision whose events did not become durable is void: throw the object away and
// fold the log again. One thread at a time.
class PlanRun {
 public:
  struct Options {
    Milliseconds cancel_grace{10'000};
    Milliseconds drain_timeout{300'000};
    std::uint32_t engine_attempts_max = 20;
  };
  // What a decision may see of the world, and where it is written.
  struct Turn {
    Timestamp now{};
    Random& random;
    StartGate& gate;
    bool may_start = true;  // false: record, start nothing
    std::vector<EventWrite> writes{};
    Effects effects{};
  };
  struct ChildEnd {
    RunId run_id;
    RunStatus status = RunStatus::kCompleted;
    std::string result;  // JSON
    std::string error_code;
    std::string error_message;
  };

  PlanRun(RunId run_id, std::shared_ptr<const Plan> plan, const ToolBox& tools, Options options);

  void Apply(const Event& event) { progress_.Apply(event); }
  void SetScope(RunScope scope) { scope_ = std::move(scope); }

  // ---- orders
  void Queue(Turn& turn, const RunOrigin& origin);  // RunQueued
  // `queued_at`: its place among those that wait; unset: it begins at once.
  void Approve(Turn& turn, const Actor& actor, std::string_view reason, Timestamp queued_at);
  void Begin(Turn& turn);  // RunStarted and the first steps
  // False: this delivery is not the one that runs.
  bool Report(Turn& turn, const TaskId& task, const TaskOutcome& outcome);
  void Lost(Turn& turn, const TaskId& task);   // nobody works on it any more
  void Taken(Turn& turn, const TaskId& task);  // its worker has begun
  void Heartbeat(Turn& turn, const TaskId& task);
  void WaitDue(Turn& turn, std::string_view wait_id);
  // kHookNotFound: the hook takes no more. kSchemaValidationFailed: it is an approval's, and this
  // is neither yes nor no. Then nothing has changed.
  [[nodiscard]] Status HookReceived(Turn& turn, std::string_view token,
                                    const HookDelivery& delivery);
  void TokenTaken(Turn& turn, const std::string& hook_id);
  void ChildEnded(Turn& turn, const ChildEnd& end);
  void SlotGranted(Turn& turn, const UnitKey& key);
  // Nothing: it took effect and its record is written. A refusal writes nothing.
  std::optional<OrderRefusal> Signal(Turn& turn, const SignalOrder& order);
  // Records an order, with its record, that was decided elsewhere or against.
  void RecordSignal(Turn& turn, const SignalOrder& order, bool accepted);
  void Tick(Turn& turn);  // deadlines that have passed
  // What runs by the log and not in this process is delivered again; what was left undone goes on.
  void Recover(Turn& turn);
  // This run was folded again because a decision of `before` is void: goes on with what that one
  // had under way. `slots`: units whose slots are still held.
  void TakeOver(const PlanRun& before, std::set<UnitKey> slots);

  // ---- looking
  const RunId& run_id() const { return run_id_; }
  const RunScope& scope() const { return scope_; }
  const PlanProgress& progress() const { return progress_; }
  RunStatus status() const { return progress_.status; }
  // The next moment Tick has something to do; unset: none.
  Timestamp NextDeadline() const;
  // Nothing of this run is under way in this process: it can leave memory.
  bool Parked() const;
  // Whether this delivery is the one that the log says runs.
  bool Runs(const TaskId& task) const;
  // Further events follow by themselves: call Recover again.
  bool more() const { return more_ && !IsTerminal(status()); }
  RunView View() const;
  Explanation Why() const;

 private:
  // A turn that writes more than this goes on in the next, so that no commit grows with the plan.
  static constexpr std::size_t kEventsPerTurn = 512;

  struct Deadline {
    Timestamp at{};
    UnitKey key;
    bool lease = false;  // of the tool's silence, else of the attempt

    auto operator<=>(const Deadline&) const = default;
  };
  // Deadlines of a delivery that is under way; unset: none.
  struct Delivery {
    Timestamp timeout_at{};
    Timestamp lease_until{};
    bool taken = false;  // it has begun, and they count
  };

  // plan_run.cc
  void Advance(Turn& turn);
  bool AdvanceOne(Turn& turn);  // false: nothing can be done now
  bool AdvanceDoomed(Turn& turn);
  bool AdvanceReady(Turn& turn);
  bool AdvanceRetries(Turn& turn);
  bool AdvanceConflicts(Turn& turn);
  void StartOrSkip(Turn& turn, StepIndex step);
  void Skip(Turn& turn, const UnitKey& key, std::string_view code, std::string_view reason);
  void Complete(Turn& turn);
  bool HasReasonToWake(const Turn& turn) const;
  Event NewEvent(const Turn& turn, EventType type, std::string entity_id) const;
  void Emit(Turn& turn, Event event);
  const Action& ActionOf(const UnitKey& key) const;
  bool IsTool(const UnitKey& key) const;
  // What the end of the run does not interrupt: compensation, and what is not cancellable.
  bool OutlivesEnding(const UnitKey& key) const;
  // The run is on its way to its end. One that fails while it is paused goes there when resumed.
  bool IsEnding() const;
  std::string IdOf(const UnitKey& key) const { return UnitId(*progress_.plan, key); }

  // plan_run_loops.cc
  bool AdvanceLoops(Turn& turn);
  bool AdvanceLoop(Turn& turn, StepIndex step);
  void FinishLoop(Turn& turn, StepIndex step);
  void WithdrawItems(Turn& turn, StepIndex step);

  // plan_run_recovery.cc
  void RecoverTools(Turn& turn);
  void RecoverChildren(Turn& turn);

  // plan_run_start.cc
  void StartUnit(Turn& turn, const UnitKey& key, bool has_slot);
  Result<std::string> ConcurrencyKeyOf(const UnitKey& key) const;
  bool GetSlot(Turn& turn, const UnitKey& key, const std::string& concurrency_key);
  bool StartWithGivenResult(Turn& turn, const UnitKey& key);
  Result<std::string> StartPayload(Turn& turn, const UnitKey& key) const;
  void StartTool(Turn& turn, const UnitKey& key);
  void StartLoop(Turn& turn, StepIndex step);
  void StartWait(Turn& turn, const UnitKey& key);
  void StartHook(Turn& turn, const UnitKey& key);
  void StartChild(Turn& turn, const UnitKey& key);
  void EmitStarted(Turn& turn, const UnitKey& key, std::string payload);
  void EmitWait(Turn& turn, std::string wait_id, Timestamp due_at);
  void EmitTimeout(Turn& turn, const UnitKey& key, std::optional<Milliseconds> timeout);
  void Dispatch(Turn& turn, const UnitKey& key);
  std::uint32_t DeliveriesThatCount(const UnitKey& key) const;
  void Redeliver(Turn& turn, const UnitKey& key);
  void FailAtStart(Turn& turn, const UnitKey& key, const Error& error);
  Result<Value> RenderInputs(const UnitKey& key, const std::string& secret_prefix) const;
  RunId ChildIdOf(const UnitKey& key) const;  // of the unit's attempt
  ChildOrder ChildOf(const UnitKey& key, const std::string& inputs) const;

  // plan_run_end.cc
  void FinishUnit(Turn& turn, const UnitKey& key, const TaskOutcome& outcome);
  void CompleteUnit(Turn& turn, const UnitKey& key, const TaskOutcome& outcome);
  void FailUnit(Turn& turn, const UnitKey& key, const TaskOutcome& outcome);
  bool WillRetry(const UnitKey& key, const TaskOutcome& outcome) const;
  void FailOutputs(Turn& turn, const Error& error);  // of the plan
  bool AdvanceEnding(Turn& turn);
  void WithdrawAsks(Turn& turn);
  void StopWaiting(Turn& turn);
  bool StopLoops(Turn& turn);
  void StopTools(Turn& turn, bool force);
  void GiveUpOnTools(Turn& turn);
  void LetGo(Turn& turn, const UnitKey& key);
  bool AdvanceUndo(Turn& turn);
  void EndRun(Turn& turn);
  void LeaveProcess(Turn& turn, const UnitKey& key);

  // plan_run_signals.cc
  std::optional<OrderRefusal> Pause(Turn& turn, const SignalOrder& order);
  std::optional<OrderRefusal> Resume(Turn& turn, const SignalOrder& order);
  std::optional<OrderRefusal> Cancel(Turn& turn, const SignalOrder& order);
  std::optional<OrderRefusal> EmergencyStop(Turn& turn, const SignalOrder& order);
  std::optional<OrderRefusal> RetryStep(Turn& turn, const SignalOrder& order);
  std::optional<OrderRefusal> SkipStep(Turn& turn, const SignalOrder& order);
  std::optional<OrderRefusal> UpdateParams(Turn& turn, const SignalOrder& order);
  std::optional<OrderRefusal> ChangeStep(Turn& turn, const SignalOrder& order);
  std::optional<OrderRefusal> EscalateAlert(Turn& turn, const SignalOrder& order);
  std::optional<OrderRefusal> RefuseIfOver(const UnitKey& key, const Unit& unit) const;
  void CancelAttempt(Turn& turn, const UnitKey& key, std::string_view why, bool goes_on);

  // plan_run_events.cc
  void DeadlinePassed(Turn& turn, const Deadline& deadline);
  void DeliverAgain(Turn& turn, const UnitKey& key);
  void ClearDeadlines(const UnitKey& key);
  void SetDeadlines(const UnitKey& key, Timestamp now);

  // plan_run_view.cc
  StepView ViewOf(StepIndex step) const;
  void ExplainStatus(Explanation& to) const;
  void ExplainUnit(const UnitKey& key, Explanation& to) const;
  void ExplainWaiting(Explanation& to) const;
  void ExplainReady(Explanation& to) const;
  void ExplainDependencies(Explanation& to) const;
  std::set<UnitKey> WithoutTool() const;
  EventSeq CauseOf(const UnitKey& key) const;

  const RunId run_id_;
  const ToolBox& tools_;
  const Options options_;
  RunScope scope_;
  PlanProgress progress_;

  // Of this process, not of the log.
  std::map<UnitKey, Delivery> under_way_;  // dispatched, not reported
  struct Losses {
    std::uint32_t logical_attempt = 0;
    std::uint32_t count = 0;
  };
  std::map<UnitKey, Losses> losses_;  // deliveries that workers have not reported
  std::set<UnitKey> asked_;           // ready, and waiting for a slot
  std::set<UnitKey> slots_;           // held
  std::set<UnitKey> missing_;         // ready, and no tool of this process can do it
  std::set<Deadline> deadlines_;
  std::set<std::string> children_told_;  // whose start was asked for
  std::size_t undo_next_ = SIZE_MAX;     // in progress_.succeeded; what is behind it is undone
  bool waiting_stopped_ = false;         // the ending has ended what only waits
  std::uint8_t stops_sent_ = 0;          // 1: asked, 2: forced, 3: given up
  Timestamp stops_sent_at_{};
  bool drain_alerted_ = false;
  bool more_ = false;
};

}  // namespace everstep
