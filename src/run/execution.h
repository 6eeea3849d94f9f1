#pragma once

#include <cstdint>
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
#include "run/program.h"
#include "run/tool.h"

namespace everstep {

// A run that an activity starts and waits for.
struct ChildOrder {
  RunId run_id;
  ProgramRef program;
  RunOrigin origin;
};

// Intents that follow from events. They leave the process when the events are durable, not before;
// those that are lost with the process follow from the log again (Execution::Recover).
struct Effects {
  std::vector<Task> dispatch;
  struct Stop {
    TaskId task;
    bool force = false;
  };
  std::vector<Stop> stop;
  std::vector<ChildOrder> children;
  std::vector<RunId> cancel_children;
  std::vector<std::string> freed_slots;                  // activities; also of withdrawn requests
  std::vector<std::pair<Timestamp, std::string>> armed;  // waits, by id
  std::vector<Alert> alerts;
  bool start_due = false;  // a run that was to start later may start now
  // Hooks whose token the program chose: the log may have recorded a conflict instead.
  std::vector<std::pair<std::string, std::string>> reserved;  // token, hook id
};

// Decides whether an activity that is ready may run now. If not, SlotGranted follows later.
class StartGate {
 public:
  virtual ~StartGate() = default;
  virtual bool MayStart(const std::string& activity_id, const ActivitySpec& spec,
                        const std::string& concurrency_key) = 0;
  // The activity, which may run, has a task with inputs of this size.
  virtual void Dispatched(const std::string& /*activity_id*/, std::size_t /*input_bytes*/) {}
};

// An operator's order that passed the checks of signal_rules.h.
struct SignalOrder {
  std::string signal_id;
  std::string type;
  Value payload;       // a map
  std::string record;  // the decision record: payload of SignalAccepted
  std::string reason;
};

// One run, being executed. Its program says what comes next; the execution carries it out: attempts
// and deliveries, retries, timeouts, leases, slots, waits, hooks, children, operators' orders, the
// run's beginning and its end. It knows nothing of how activities depend on each other.
//
// It writes the events that follow from an order and folds them at once, so that a run that is read
// back from its log stands where the one that wrote it stood. A decision whose events did not
// become durable is void: discard the object and fold the log again. One thread at a time.
class Execution {
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

  Execution(RunId run_id, std::shared_ptr<const CompiledProgram> program, const ToolBox& tools,
            Options options);
  ~Execution();

  void Apply(const Event& event);
  void SetScope(RunScope scope) { state_.scope = std::move(scope); }

  // ---- orders
  void Queue(Turn& turn, const RunOrigin& origin);  // RunQueued
  // `queued_at`: its place among those that wait; unset: it begins at once.
  void Approve(Turn& turn, const Actor& actor, std::string_view reason, Timestamp queued_at);
  void Begin(Turn& turn);  // RunStarted and the first activities
  // False: this delivery is not the one that runs.
  bool Report(Turn& turn, const TaskId& task, const TaskOutcome& outcome);
  void Lost(Turn& turn, const TaskId& task);   // nobody works on it any more
  void Taken(Turn& turn, const TaskId& task);  // its worker has begun
  void Heartbeat(Turn& turn, const TaskId& task);
  void WaitDue(Turn& turn, std::string_view wait_id);
  // kHookNotFound: no open hook has this token. kSchemaValidationFailed: the hook is an approval's,
  // and the payload says neither yes nor no. On an error nothing has changed. A delivery that ended
  // an earlier attempt of the activity has no further effect.
  [[nodiscard]] Status HookReceived(Turn& turn, const HookDelivery& delivery);
  void TokenTaken(Turn& turn, const std::string& hook_id);
  void ChildEnded(Turn& turn, const ChildEnd& end);
  void SlotGranted(Turn& turn, const std::string& activity_id);
  // Nothing: the order took effect and its record is written. A refusal writes nothing.
  std::optional<OrderRefusal> Signal(Turn& turn, const SignalOrder& order);
  // Records an order, with its record, that was decided elsewhere or against.
  void RecordSignal(Turn& turn, const SignalOrder& order, bool accepted);
  void Tick(Turn& turn);  // deadlines that have passed
  // Delivers again what runs by the log and not in this process, and goes on with what was left.
  void Recover(Turn& turn);
  // Continues where the last turn stopped because it had written enough (more()).
  void GoOn(Turn& turn);
  // This run was folded again because a decision of `before` is void: goes on with what that one
  // had under way. `slots`: activities whose slots are still held.
  void TakeOver(const Execution& before, const std::set<std::string>& slots);

  // A run with work in flight can still leave most of its memory: all that its log says. It then
  // knows its id and scope and nothing else, until a new execution, folded from the log, takes over
  // what the process knows of it.
  void Shed();
  void TakeOverShed(const Execution& shed);
  // The memory of what the log says; an estimate.
  std::uint64_t bytes() const { return compiled_->bytes_per_run() + folded_bytes_; }

  // ---- looking
  const RunId& run_id() const { return state_.run_id; }
  const RunScope& scope() const { return state_.scope; }
  const RunProgress& progress() const { return state_.run; }
  const ActivityTable& activities() const { return state_.activities; }
  const std::shared_ptr<const CompiledProgram>& compiled() const { return compiled_; }
  RunStatus status() const { return state_.run.status; }
  std::set<std::string> RunningIds() const;
  // The next moment Tick has something to do; unset: none.
  Timestamp NextDeadline() const;
  // Nothing of this run is under way in this process: it can leave memory.
  bool Parked() const;
  // Whether this delivery is the one that runs by the log.
  bool Runs(const TaskId& task) const;
  // Further events follow by themselves: call GoOn.
  bool more() const { return more_ && !IsTerminal(status()); }
  RunView View() const;
  Explanation Why() const;
  // All that was folded, as bytes: equal for runs that were folded from the same log.
  // Stops early, and is of no use, once it has more than `bytes_max`.
  std::string Encode(std::size_t bytes_max = SIZE_MAX) const;
  // Into a new execution. False: another version wrote the bytes, or they are damaged; the
  // execution is then of no use.
  bool Decode(std::string_view bytes);

 private:
  // A turn that writes more than this goes on in the next, so that no commit grows with the run.
  static constexpr std::size_t kEventsPerTurn = 512;
  // No more activities than this request slots at once: a request takes more memory than a step.
  static constexpr std::size_t kRequestsMax = 256;

  class TurnCommands;

  struct Deadline {
    enum class Of : std::uint8_t {
      kAttempt,
      kLease,  // the silence of the tool
      kHook,   // the silence of the holder of the hook's token
    };
    Timestamp at{};
    ActivityNo no = kNoActivity;
    Of of = Of::kAttempt;

    auto operator<=>(const Deadline&) const = default;
  };
  // Deadlines of a delivery that is under way; unset: none.
  struct Delivery {
    Timestamp timeout_at{};
    Timestamp lease_until{};
    bool taken = false;  // it has begun, and they count
  };

  // execution.cc
  void Advance(Turn& turn);
  bool AdvanceOne(Turn& turn);  // false: nothing can be done now
  bool AdvanceConflicts(Turn& turn);
  bool AdvanceRequests(Turn& turn);
  void Skip(Turn& turn, ActivityNo no, std::string_view code, std::string_view reason);
  void Complete(Turn& turn, const std::string& result);
  bool HasReasonToWake(const Turn& turn) const;
  Event NewEvent(const Turn& turn, EventType type, std::string entity_id) const;
  void Emit(Turn& turn, Event event);
  const Activity& at(ActivityNo no) const { return state_.activities.at(no); }
  const std::string& IdOf(ActivityNo no) const { return at(no).id; }
  TaskId TaskOf(ActivityNo no) const;
  // A tool works on it. After a call whose answer comes by a hook, only the hook is open.
  bool IsTool(ActivityNo no) const;
  bool AwaitsHook(ActivityNo no) const;
  // What the end of the run does not interrupt: compensation, and what is not cancellable.
  bool OutlivesEnding(ActivityNo no) const;
  // The run is on its way to its end. One that fails while it is paused goes there when resumed.
  bool IsEnding() const;

  // execution_start.cc
  void Schedule(Turn& turn, ActivityNo no, bool has_slot);
  bool GetSlot(Turn& turn, ActivityNo no, const std::string& concurrency_key);
  bool ForgetRequest(ActivityNo no);  // false: there was none
  bool StartWithGivenResult(Turn& turn, ActivityNo no);
  Result<std::string> InputsOf(ActivityNo no, const Value& rendered) const;
  void StartTool(Turn& turn, ActivityNo no);
  void StartTimer(Turn& turn, ActivityNo no, const AttemptSpec& attempt);
  void StartHook(Turn& turn, ActivityNo no, const AttemptSpec& attempt);
  void StartChild(Turn& turn, ActivityNo no, const AttemptSpec& attempt);
  void OpenHook(Turn& turn, ActivityNo no, const HookAsk& ask);
  void EmitStarted(Turn& turn, ActivityNo no, std::string payload);
  void EmitWait(Turn& turn, std::string wait_id, Timestamp due_at);
  void EmitTimeout(Turn& turn, ActivityNo no, std::optional<Milliseconds> timeout);
  void Dispatch(Turn& turn, ActivityNo no);
  std::uint32_t DeliveriesThatCount(ActivityNo no) const;
  void Redeliver(Turn& turn, ActivityNo no);
  void FailAtStart(Turn& turn, ActivityNo no, const Error& error);
  ChildOrder ChildOf(ActivityNo no, const ProgramRef& program, const std::string& inputs) const;

  // execution_end.cc
  void Finish(Turn& turn, ActivityNo no, const TaskOutcome& outcome);
  void CompleteActivity(Turn& turn, ActivityNo no, const TaskOutcome& outcome);
  void FailActivity(Turn& turn, ActivityNo no, const TaskOutcome& outcome);
  // The index of the rule by which the attempt is repeated; nothing: it is not.
  std::optional<std::size_t> RetryRuleFor(ActivityNo no, const TaskOutcome& outcome) const;
  void FailRun(Turn& turn, std::string_view code, const std::string& message,
               std::string_view source);
  bool AdvanceEnding(Turn& turn);
  void WithdrawRequests(Turn& turn);
  void StopWaiting(Turn& turn);
  void StopTools(Turn& turn, bool force);
  void GiveUpOnTools(Turn& turn);
  void Withdraw(Turn& turn, ActivityNo no);
  bool CancelActivity(Turn& turn, ActivityNo no, const std::string& reason);
  void PressCancelled(Turn& turn);
  void LetGo(Turn& turn, ActivityNo no);
  bool AdvanceUndo(Turn& turn);
  void EndRun(Turn& turn);
  void LeaveProcess(Turn& turn, ActivityNo no);

  // execution_signals.cc
  std::optional<OrderRefusal> Pause(Turn& turn, const SignalOrder& order);
  std::optional<OrderRefusal> Resume(Turn& turn, const SignalOrder& order);
  std::optional<OrderRefusal> Cancel(Turn& turn, const SignalOrder& order);
  std::optional<OrderRefusal> EmergencyStop(Turn& turn, const SignalOrder& order);
  std::optional<OrderRefusal> RetryStep(Turn& turn, const SignalOrder& order);
  std::optional<OrderRefusal> SkipStep(Turn& turn, const SignalOrder& order);
  std::optional<OrderRefusal> UpdateParams(Turn& turn, const SignalOrder& order);
  std::optional<OrderRefusal> ChangeStep(Turn& turn, const SignalOrder& order);
  std::optional<OrderRefusal> EscalateAlert(Turn& turn, const SignalOrder& order);
  void CancelAttempt(Turn& turn, ActivityNo no, std::string_view why, bool goes_on);

  // execution_events.cc
  void DeadlinePassed(Turn& turn, const Deadline& deadline);
  void DeliverAgain(Turn& turn, ActivityNo no);
  void ClearDeadlines(ActivityNo no);
  void SetDeadlines(ActivityNo no, Timestamp now);
  // The holder of the activity's token has to send a heartbeat, if it has a heartbeat timeout.
  void AwaitHeartbeat(ActivityNo no, Timestamp now);
  void ForgetHeartbeat(ActivityNo no);
  void RecoverHeartbeats(Timestamp now);
  void RecoverTools(Turn& turn);
  void RecoverChildren(Turn& turn);

  // execution_view.cc
  void ExplainStatus(Explanation& to) const;
  void ExplainActivity(ActivityNo no, Explanation& to) const;
  void ExplainWaiting(Explanation& to) const;
  void ExplainReady(Explanation& to) const;

  ExecutionState state_;
  const std::shared_ptr<const CompiledProgram> compiled_;
  std::unique_ptr<Program> program_;  // null once the run was shed
  const ToolBox& tools_;
  const Options options_;

  // Of this process, not of the log.
  std::map<ActivityNo, Delivery> under_way_;  // dispatched, not reported
  struct Losses {
    std::uint32_t logical_attempt = 0;
    std::uint32_t count = 0;
  };
  std::map<ActivityNo, Losses> losses_;  // deliveries that workers have not reported
  std::set<ActivityNo> asked_;           // ready, and waiting for a slot
  // Those of asked_ that request one when others have got theirs, by priority.
  std::set<std::pair<std::int32_t, ActivityNo>> unasked_;
  std::set<ActivityNo> slots_;    // held
  std::set<ActivityNo> missing_;  // ready, and no tool of this process can do it
  std::set<Deadline> deadlines_;
  // Activities that only wait for their hook, and whose token's holder has to send heartbeats: when
  // it counts as silent.
  std::map<ActivityNo, Timestamp> silent_at_;
  // Activities that the program has cancelled, and that have been asked to stop.
  struct Cancellation {
    Timestamp at{};
    bool forced = false;
    std::string reason;
  };
  std::map<ActivityNo, Cancellation> cancelled_;
  std::set<std::string> children_started_;  // in this process
  bool waiting_stopped_ = false;            // the ending has ended what only waits
  ActivityNo waiting_stopped_to_ = 0;       // of the activities before this one
  std::uint8_t stops_sent_ = 0;             // 1: asked, 2: forced, 3: given up
  Timestamp stops_sent_at_{};
  bool drain_alerted_ = false;
  bool more_ = false;
  bool recovers_ = false;  // Recover has not delivered everything yet
  std::uint64_t folded_bytes_ = 0;
  std::map<ActivityNo, std::string> shed_ids_;  // of a run that was shed
};

}  // namespace everstep
