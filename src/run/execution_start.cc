// How an activity's attempt begins and how it is delivered.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/json.h"
#include "base/sha256.h"
#include "event/identifier.h"
#include "flow/operations_done.h"
#include "run/derived_run_id.h"
#include "run/execution.h"
#include "run/merged_members.h"

namespace everstep {
namespace {

constexpr std::uint64_t kOperationsPerRequest = 20;
constexpr std::size_t kInputBytesMax = 1 << 20;  // rendered; larger data belongs in an artifact

std::string HexOf(Random& random) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int word = 0; word < 2; ++word) {
    std::uint64_t bits = random.Next();
    for (int i = 0; i < 16; ++i, bits >>= 4) text += kDigits[bits & 15];
  }
  return text;
}

Error TooLarge(std::size_t bytes) {
  return {ErrorCode::kInvalidInput,
          "the input has " + std::to_string(bytes) + " bytes; at most " +
              std::to_string(kInputBytesMax) + " are recorded, keep more in an artifact",
          {}};
}

// The same for every process that recovers the run, different for every attempt.
RunId ChildRunId(const RunId& parent, std::string_view activity_id, std::uint32_t attempt) {
  const std::string text =
      parent.value() + "|" + std::string(activity_id) + "|" + std::to_string(attempt);
  // Whoever can guess the parent's id must not be able to take the child's.
  return IsDerivedRunId(parent.value()) ? DerivedRunId(text) : FormerDerivedRunId(text);
}

}  // namespace

void Execution::Schedule(Turn& turn, ActivityNo no, bool has_slot) {
  EVERSTEP_ASSERT(!at(no).running());
  if (StartWithGivenResult(turn, no)) return;
  const Work work = program_->WorkOf(no);
  if (work == Work::kTool) {
    if (!has_slot) {
      const auto key = program_->ConcurrencyKeyOf(no);
      if (!key) return FailAtStart(turn, no, key.error());
      // Without a slot it starts when it gets one; until then the program need not look at it.
      if (!GetSlot(turn, no, *key)) return program_->SetAside(no);
    }
    return StartTool(turn, no);
  }
  const auto attempt = program_->AttemptOf(no, {turn.now, {}, {}});
  if (!attempt) return FailAtStart(turn, no, attempt.error());
  switch (work) {
    case Work::kTimer:
      return StartTimer(turn, no, *attempt);
    case Work::kHook:
      return StartHook(turn, no, *attempt);
    case Work::kChild:
      return StartChild(turn, no, *attempt);
    case Work::kScope:
      return EmitStarted(turn, no, attempt->payload);
    case Work::kTool:
      break;
  }
}

// An operator has given the attempt's result: nothing has to be done for it.
bool Execution::StartWithGivenResult(Turn& turn, ActivityNo no) {
  if (state_.run.overrides.empty()) return false;
  const auto override = state_.run.overrides.find(IdOf(no));
  if (override == state_.run.overrides.end()) return false;
  const Value given = override->second.Get("result");
  if (given.undefined()) return false;
  EmitStarted(turn, no, {});
  TaskOutcome outcome;
  outcome.result = ToJson(given);
  CompleteActivity(turn, no, outcome);
  return true;
}

bool Execution::GetSlot(Turn& turn, ActivityNo no, const std::string& concurrency_key) {
  EVERSTEP_ASSERT(!slots_.contains(no) && !asked_.contains(no));
  const ActivitySpec& spec = program_->SpecOf(no);
  if (!tools_.Has(spec.kind)) {
    missing_.insert(no);
    return false;
  }
  if (concurrency_key.empty() && spec.queue.empty() && tools_.Immediate(spec.kind)) return true;
  const bool requests = asked_.size() - unasked_.size() < kRequestsMax;
  if (requests && turn.gate.MayStart(IdOf(no), spec, concurrency_key)) {
    slots_.insert(no);
    return true;
  }
  AddOperations(kOperationsPerRequest);
  asked_.insert(no);
  if (!requests) unasked_.emplace(-spec.priority, no);
  return false;
}

bool Execution::ForgetRequest(ActivityNo no) {
  if (asked_.erase(no) == 0) return false;
  if (!unasked_.empty()) unasked_.erase({-program_->SpecOf(no).priority, no});
  return true;
}

// The inputs as JSON, with what operators changed.
Result<std::string> Execution::InputsOf(ActivityNo no, const Value& rendered) const {
  Value inputs = rendered;
  if (!state_.run.overrides.empty() || !state_.run.targets.empty()) {
    const auto target = state_.run.targets.find(IdOf(no));
    if (target != state_.run.targets.end()) inputs = MergedMembers(inputs, target->second);
    const auto override = state_.run.overrides.find(IdOf(no));
    if (override != state_.run.overrides.end()) {
      inputs = MergedMembers(inputs, override->second.Get("inputs"));
    }
  }
  std::string text = inputs.undefined() ? std::string() : ToJson(inputs);
  if (text.size() > kInputBytesMax) return TooLarge(text.size());
  return text;
}

// StepStarted records all that a delivery of this attempt needs.
void Execution::StartTool(Turn& turn, ActivityNo no) {
  const ActivitySpec& spec = program_->SpecOf(no);
  AttemptContext context{turn.now, {}, {}};
  if (!spec.secrets.empty()) context.secret_prefix = "$secret-" + HexOf(turn.random) + ":";
  if (spec.answered_by_hook) context.hook_token = HexOf(turn.random);
  const auto attempt = program_->AttemptOf(no, context);
  if (!attempt) return FailAtStart(turn, no, attempt.error());
  const auto inputs = InputsOf(no, attempt->inputs);
  if (!inputs) return FailAtStart(turn, no, inputs.error());
  std::string payload;
  JsonWriter json(payload);
  json.BeginObject();
  if (!inputs->empty() && *inputs != "{}") json.RawMember("input", *inputs);
  if (!context.secret_prefix.empty()) json.Member("secretPrefix", context.secret_prefix);
  if (!attempt->idempotency_key.empty()) {
    json.Member("idempotencyKey", attempt->idempotency_key);
  }
  json.EndObject();
  if (payload == "{}") payload.clear();
  EmitStarted(turn, no, std::move(payload));
  if (spec.answered_by_hook) {
    const std::string call_id = PurposeId("call", IdOf(no), at(no).logical_attempt);
    Event call = NewEvent(turn, EventType::kToolStarted, call_id);
    call.parent_id = IdOf(no);
    Emit(turn, std::move(call));
    HookAsk ask;
    ask.token = context.hook_token;
    OpenHook(turn, no, ask);
    EmitTimeout(turn, no, std::nullopt);  // it outlives the call
  }
  Dispatch(turn, no);
}

void Execution::EmitStarted(Turn& turn, ActivityNo no, std::string payload) {
  Event event = NewEvent(turn, EventType::kStepStarted, IdOf(no));
  event.logical_attempt = at(no).logical_attempt + 1;
  event.payload = std::move(payload);
  Emit(turn, std::move(event));
  EVERSTEP_ASSERT(at(no).running() && at(no).engine_attempt == 1);
}

void Execution::Dispatch(Turn& turn, ActivityNo no) {
  const ActivitySpec& spec = program_->SpecOf(no);
  const Activity& activity = at(no);
  EVERSTEP_ASSERT(Runs(TaskOf(no)) && !under_way_.contains(no));
  Task task;
  task.id = TaskOf(no);
  task.kind = spec.kind;
  task.inputs = activity.inputs;
  task.timeout = spec.timeout;
  if (!tools_.Immediate(spec.kind)) {
    task.queue = spec.queue.empty() ? spec.kind : spec.queue;
    task.priority = spec.priority;
    task.heartbeat_timeout = spec.heartbeat_timeout;
    task.scope = state_.scope;
    task.secrets = spec.secrets;
    task.secret_prefix = activity.secret_prefix;
    task.artifacts = spec.artifacts;
    task.traceparent = state_.run.origin.traceparent;
    task.tracestate = state_.run.origin.tracestate;
    task.idempotency_key = activity.idempotency_key;
    if (task.idempotency_key.empty()) {
      task.idempotency_key =
          ToHex(Sha256(state_.run_id.value() + "|" + task.id.step_id + "|" +
                       std::to_string(activity.logical_attempt) + "|" + state_.scope.plan_version));
    }
  }
  if (slots_.contains(no)) turn.gate.Dispatched(activity.id, task.inputs.size());
  ClearDeadlines(no);
  under_way_[no] = {};
  if (!tools_.WaitsForWorker(spec.kind)) SetDeadlines(no, turn.now);
  turn.effects.dispatch.push_back(std::move(task));
}

// An activity that brings its process down each time must not do so for ever. A task for a worker
// cannot bring this process down, and may have waited for a worker all the time: what counts is how
// often it was lost.
std::uint32_t Execution::DeliveriesThatCount(ActivityNo no) const {
  const Activity& activity = at(no);
  if (!tools_.WaitsForWorker(program_->SpecOf(no).kind)) return activity.engine_attempt;
  const auto losses = losses_.find(no);
  const bool of_attempt =
      losses != losses_.end() && losses->second.logical_attempt == activity.logical_attempt;
  return of_attempt ? losses->second.count : 0;
}

void Execution::Redeliver(Turn& turn, ActivityNo no) {
  EVERSTEP_ASSERT(at(no).running() && IsTool(no));
  if (!slots_.contains(no)) {
    const auto key = program_->ConcurrencyKeyOf(no);  // it was valid when the attempt began
    if (!GetSlot(turn, no, key ? *key : std::string())) return;
  }
  if (DeliveriesThatCount(no) >= options_.engine_attempts_max) {
    FailActivity(turn, no,
                 TaskOutcome::Failure("DELIVERIES_EXHAUSTED",
                                      "delivered " + std::to_string(at(no).engine_attempt) +
                                          " times and never reported",
                                      true, "PLATFORM"));
    return;
  }
  Event event = NewEvent(turn, EventType::kStepStarted, IdOf(no));
  event.logical_attempt = at(no).logical_attempt;
  event.engine_attempt = at(no).engine_attempt + 1;
  Emit(turn, std::move(event));
  EVERSTEP_ASSERT(at(no).engine_attempt > 1);
  Dispatch(turn, no);
}

void Execution::FailAtStart(Turn& turn, ActivityNo no, const Error& error) {
  EmitStarted(turn, no, {});
  FailActivity(turn, no,
               TaskOutcome::Failure(std::string(Name(error.code)), error.message, false, "USER"));
}

void Execution::EmitWait(Turn& turn, std::string wait_id, Timestamp due_at) {
  // Whole milliseconds, as every reader of the contract can parse; never early.
  due_at = std::chrono::ceil<std::chrono::milliseconds>(due_at);
  turn.effects.armed.emplace_back(due_at, wait_id);
  Event event = NewEvent(turn, EventType::kWaitCreated, std::move(wait_id));
  event.facts.due_at = due_at;
  JsonWriter json(event.payload);
  json.BeginObject();
  json.Member("dueAt", FormatTimestamp(due_at));
  json.EndObject();
  Emit(turn, std::move(event));
}

// The time that an attempt which only waits may take is a durable wait itself.
void Execution::EmitTimeout(Turn& turn, ActivityNo no, std::optional<Milliseconds> timeout) {
  const auto& of_attempt = program_->SpecOf(no).timeout;
  if (of_attempt && (!timeout || *of_attempt < *timeout)) timeout = of_attempt;
  if (!timeout) return;
  EmitWait(turn, PurposeId("timeout", IdOf(no), at(no).logical_attempt), turn.now + *timeout);
}

void Execution::StartTimer(Turn& turn, ActivityNo no, const AttemptSpec& attempt) {
  EmitStarted(turn, no, {});
  EmitWait(turn, PurposeId("wait", IdOf(no), at(no).logical_attempt), attempt.due_at);
  EmitTimeout(turn, no, std::nullopt);
}

void Execution::StartHook(Turn& turn, ActivityNo no, const AttemptSpec& attempt) {
  EVERSTEP_ASSERT(attempt.hook.has_value());
  HookAsk ask = *attempt.hook;
  const bool chosen = !ask.token.empty();
  if (!chosen) ask.token = HexOf(turn.random);
  EmitStarted(turn, no, {});
  if (chosen) {
    turn.effects.reserved.emplace_back(ask.token,
                                       PurposeId("hook", IdOf(no), at(no).logical_attempt));
  }
  OpenHook(turn, no, ask);
  EmitTimeout(turn, no, ask.timeout);
  AwaitHeartbeat(no, turn.now);
}

void Execution::OpenHook(Turn& turn, ActivityNo no, const HookAsk& ask) {
  EVERSTEP_ASSERT(at(no).running() && !ask.token.empty());
  Event hook =
      NewEvent(turn, EventType::kHookCreated, PurposeId("hook", IdOf(no), at(no).logical_attempt));
  hook.parent_id = IdOf(no);
  hook.facts.token = ask.token;
  JsonWriter json(hook.payload);
  json.BeginObject();
  json.Member("token", ask.token);
  json.Key("metadata");
  json.BeginObject();
  json.Member("kind", ask.approval ? "approval" : "hook");
  if (!ask.prompt.empty()) json.Member("prompt", ask.prompt);
  json.EndObject();
  json.EndObject();
  Emit(turn, std::move(hook));
}

RunId ChildIdOf(const ExecutionState& state, ActivityNo no) {
  const Activity& activity = state.activities.at(no);
  return ChildRunId(state.run_id, activity.id, activity.logical_attempt);
}

ChildOrder Execution::ChildOf(ActivityNo no, const ProgramRef& program,
                              const std::string& inputs) const {
  const RunOrigin& origin = state_.run.origin;
  ChildOrder order;
  order.run_id = ChildIdOf(state_, no);
  order.program = program;
  order.origin.scope = state_.scope;
  order.origin.inputs = inputs;
  order.origin.triggered_by = origin.triggered_by;
  order.origin.trigger_source = origin.trigger_source;
  order.origin.traceparent = origin.traceparent;
  order.origin.tracestate = origin.tracestate;
  order.origin.priority = origin.priority;
  order.origin.parent = state_.run_id;
  order.origin.parent_step = IdOf(no);
  order.origin.children = origin.children;
  return order;
}

void Execution::StartChild(Turn& turn, ActivityNo no, const AttemptSpec& attempt) {
  auto inputs = InputsOf(no, attempt.inputs);
  if (!inputs) return FailAtStart(turn, no, inputs.error());
  if (inputs->empty()) *inputs = "{}";
  EmitStarted(turn, no, R"({"input":)" + *inputs + "}");
  ChildOrder order = ChildOf(no, attempt.child, *inputs);
  Event child = NewEvent(turn, EventType::kChildStarted, order.run_id.value());
  child.parent_id = IdOf(no);
  JsonWriter json(child.payload);
  json.BeginObject();
  WriteProgram(json, order.program);
  json.RawMember("input", *inputs);
  json.EndObject();
  Emit(turn, std::move(child));
  children_started_.insert(order.run_id.value());
  turn.effects.children.push_back(std::move(order));
  EmitTimeout(turn, no, std::nullopt);
}

}  // namespace everstep
