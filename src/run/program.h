#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "event/event.h"
#include "everstep/engine.h"
#include "everstep/result.h"
#include "flow/activity_spec.h"
#include "run/activity.h"
#include "run/activity_table.h"
#include "run/run_progress.h"
#include "run/state_codec.h"
#include "run/tool.h"

namespace everstep {

// The state of a run, folded from its log, that does not depend on its kind of program.
struct ExecutionState {
  RunId run_id;
  RunScope scope;
  RunProgress run;
  ActivityTable activities;
};

// What carries out an activity.
enum class Work : std::uint8_t {
  kTool,   // a call of a tool
  kTimer,  // a time that has to come
  kHook,   // an answer from outside
  kChild,  // another run
  kScope,  // other activities: the program itself ends it
};

struct HookAsk {
  std::string token;   // empty: made by the engine
  std::string prompt;  // what the approver is asked
  bool approval = false;
  std::optional<Milliseconds> timeout{};
};

// What one attempt of an activity does, with all expressions evaluated.
struct AttemptSpec {
  Value inputs;                   // tool, child: a map, or undefined
  std::string idempotency_key;    // tool; empty: the engine's own
  std::optional<HookAsk> hook{};  // hook
  Timestamp due_at{};             // timer
  ProgramRef child;               // child
  std::string payload;            // scope: what StepStarted records, JSON
};
struct AttemptContext {
  Timestamp now{};
  std::string secret_prefix;  // stands before the name of a secret in inputs
  std::string hook_token;     // of an activity that is answered by a hook: to be handed over
};

// The run that a child activity's current attempt starts. The same for every process that recovers
// the run, different for every attempt.
RunId ChildIdOf(const ExecutionState& state, ActivityNo no);

// Why an order that was well formed is refused in this state of the run.
struct OrderRefusal {
  ErrorCode code;
  std::string message;
};

// The orders that a program gives. Each is recorded in the log and folded before the call returns,
// and has effects outside only once it is durable. Valid during the call that received it.
class Commands {
 public:
  virtual ~Commands() = default;

  // False: the process is stopping; record what has happened, start nothing.
  virtual bool may_start() const = 0;
  // Starts the activity's next attempt, as Program::AttemptOf describes it. An activity that has to
  // wait for a slot or a tool is set aside (Program::SetAside) and starts by itself later.
  virtual void Schedule(ActivityNo no) = 0;
  virtual void Skip(ActivityNo no, std::string_view code, std::string_view reason) = 0;
  // Ends an activity that runs, or a scope. A failure is retried by the activity's rules.
  virtual void Finish(ActivityNo no, const TaskOutcome& outcome) = 0;
  // The activity cannot start: records an attempt that failed with the error.
  virtual void FailToStart(ActivityNo no, const Error& error) = 0;
  // An activity that waits for a slot or a tool is not to start any more.
  virtual void Withdraw(ActivityNo no) = 0;
  // Ends an activity, not a scope, that is not needed any more. One that is not under way is
  // skipped (CANCELLED). One that only waits fails at once (CANCELLED). A tool is asked to stop, is
  // stopped by force after the grace period, and fails after a second one; a child run is
  // cancelled. Until they have ended, both can still succeed; neither is retried. The log does not
  // show the order, so that a program gives it for as long as the activity has not ended. False: it
  // has ended, or this process has the order already.
  virtual bool Cancel(ActivityNo no, const std::string& reason) = 0;
  // Records a fact of the program's own: a choice, variables, an iteration.
  virtual void Record(Event event) = 0;
  // Ends the run: with a result (JSON, or empty), or by failing it.
  virtual void Complete(const std::string& result) = 0;
  virtual void Fail(std::string_view code, const std::string& message,
                    std::string_view source = "program") = 0;
};

// A program that a run executes: says what comes next, and nothing else. It sees neither a clock
// nor the store nor a tool; its state changes only in Apply, so that a run that is read back from
// its log, or from a checkpoint and the rest of its log, stands where the live one stood.
class Program {
 public:
  virtual ~Program() = default;

  // ---- folding
  // `state` has taken the event; `change` says what that did to an activity. May change what
  // `state` leaves to programs: whether an activity is held, and how the run ends.
  virtual void Apply(const Event& event, const ActivityChange& change) = 0;
  // A checkpoint of what Apply has gathered, and back into a new program.
  virtual void Encode(StateEncoder& codec) const = 0;
  virtual void Decode(StateDecoder& codec) = 0;

  // ---- what comes next
  // Gives the next orders of a running run. False: there are none until something happens.
  virtual bool Next(Commands& commands) = 0;
  // Likewise while the run fails or is cancelled: ends scopes and skips what will not run.
  virtual bool NextWhileEnding(Commands&) { return false; }
  // What undoes the work of a run that has failed or was cancelled and has nothing under way.
  struct Undo {
    enum class What : std::uint8_t { kDone, kWait, kStart };
    What what = What::kDone;
    ActivityNo no = kNoActivity;  // kStart
  };
  virtual Undo NextUndo() { return {}; }

  // ---- an activity
  virtual Work WorkOf(ActivityNo no) const = 0;
  // How it is carried out. The reference stays valid until the program's next Apply.
  virtual const ActivitySpec& SpecOf(ActivityNo no) const = 0;
  virtual Result<AttemptSpec> AttemptOf(ActivityNo no, const AttemptContext& context) const = 0;
  // Activities with the same text, in all runs of the tenant, do not run at the same time.
  virtual Result<std::string> ConcurrencyKeyOf(ActivityNo) const { return std::string(); }
  // The result to be recorded for what the work returned (both JSON).
  virtual Result<std::string> ResultOf(ActivityNo, std::string returned) const { return returned; }
  // Compensation also runs while the run is ending.
  virtual bool IsCompensation(ActivityNo) const { return false; }
  // False: its failure is final whatever its rules say.
  virtual bool MayRetry(ActivityNo) const { return true; }
  // An activity that is ready waits for a slot or a tool and is not looked at meanwhile; or again
  // is. Not part of the folded state.
  virtual void SetAside(ActivityNo) {}
  virtual void PutBack(ActivityNo) {}

  // The number of an activity that the program has scheduled before, in a state that was folded
  // again. The activity becomes known if it is not.
  virtual ActivityNo NumberOf(std::string_view id) = 0;

  // ---- orders of operators
  enum class StepOrder : std::uint8_t { kRetry, kSkip, kChange };
  // The activity with this id; kNoActivity: the run has none.
  virtual ActivityNo Named(std::string_view id) = 0;
  virtual std::optional<OrderRefusal> Refusal(ActivityNo no, StepOrder order) const = 0;
  // Whether an activity that failed can still be tried again.
  virtual bool MayRevive(ActivityNo) const { return true; }
  // A scope was skipped or has ended: withdraws what it had ready.
  virtual void Leave(ActivityNo, Commands&) {}

  // ---- what people see
  virtual void View(RunView& view) const = 0;
  // Activities that could start, also in a run that was folded only to be looked at.
  using ReadyFn = std::function<void(const std::string& id, const ActivitySpec& spec)>;
  virtual void VisitReady(const ReadyFn&) const {}
  // The event that made the activity ready.
  virtual EventSeq CauseOf(std::string_view id) const = 0;
  // What waits for other activities.
  virtual void ExplainDependencies(Explanation&) const {}
};

// A program as the store keeps it: checked, compiled, immutable, shared by its runs.
class CompiledProgram {
 public:
  virtual ~CompiledProgram() = default;

  virtual const ProgramRef& ref() const = 0;
  virtual std::string_view id() const = 0;  // planId
  virtual std::string_view version() const = 0;
  virtual std::string_view schema_version() const { return {}; }
  virtual bool requires_approval() const { return false; }
  virtual std::optional<Milliseconds> timeout() const { return std::nullopt; }  // of a run
  virtual std::int32_t priority() const { return 0; }

  // The inputs of a run: `given` (a JSON object, or empty) with defaults filled in. kInvalidInput.
  virtual Result<Value> CheckInputs(std::string_view given) const = 0;
  // False: checking them can take long, so that it is not done where requests are read.
  virtual bool checks_inputs_quickly() const { return true; }
  // Of a run with these inputs, for admission.
  virtual Result<std::string> ConcurrencyKeyFor(const Value&) const { return std::string(); }
  virtual bool computes_concurrency_key() const { return false; }

  // The programs that it runs as children.
  struct Child {
    std::string name;       // by which a run's origin knows its digest
    std::string format{};   // empty: its parent's
    std::string reference;  // where it is fetched; empty: `document` is it
    std::string document;
    std::string sha256;  // expected, if the program says so
  };
  virtual std::vector<Child> children() const { return {}; }

  // Estimates of memory: of the compiled program, and of the state of one of its runs to begin
  // with.
  virtual std::uint64_t bytes() const { return 0; }
  virtual std::uint64_t bytes_per_run() const { return 0; }

  // The program of one run. `state` outlives it.
  virtual std::unique_ptr<Program> Instantiate(ExecutionState& state) const = 0;
};

}  // namespace everstep
