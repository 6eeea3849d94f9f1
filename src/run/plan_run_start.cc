#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/json.h"
#include "base/sha256.h"
#include "event/identifier.h"
#include "flow/duration.h"
#include "run/derived_run_id.h"
#include "run/plan_run.h"
#include "run/run_names.h"

namespace everstep {
namespace {

constexpr std::size_t kInputBytesMax = 1 << 20;  // rendered; larger data belongs in an artifact
constexpr std::size_t kItemsMax = 100'000;

std::string HexOf(Random& random) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int word = 0; word < 2; ++word) {
    std::uint64_t bits = random.Next();
    for (int i = 0; i < 16; ++i, bits >>= 4) text += kDigits[bits & 15];
  }
  return text;
}

Error TooLarge(std::string_view what, std::size_t bytes) {
  return {ErrorCode::kInvalidInput,
          std::string(what) + " has " + std::to_string(bytes) + " bytes; at most " +
              std::to_string(kInputBytesMax) + " are recorded, keep more in an artifact",
          {}};
}

// The same for every process that recovers the run, different for every attempt.
RunId ChildRunId(const RunId& parent, std::string_view unit_id, std::uint32_t attempt) {
  const std::string text =
      parent.value() + "|" + std::string(unit_id) + "|" + std::to_string(attempt);
  // Who can guess the parent's id must not be able to take the child's.
  return IsDerivedRunId(parent.value()) ? DerivedRunId(text) : FormerDerivedRunId(text);
}

std::optional<Milliseconds> DurationOf(const Value& value) {
  if (value.kind() == Value::Kind::kText) return ParseDuration(value.text());
  if (!value.is_number()) return std::nullopt;
  return ParseDuration(ToText(value));
}

Value Overlay(Value base, const Value& changes) {
  if (changes.kind() != Value::Kind::kMap) return base;
  ValueMap members = base.kind() == Value::Kind::kMap ? base.members() : ValueMap();
  for (const ValueMember& change : changes.members()) {
    const auto known = std::ranges::find(members, change.first, &ValueMember::first);
    if (known == members.end()) {
      members.push_back(change);
    } else {
      known->second = change.second;
    }
  }
  return Value::Map(std::move(members));
}

}  // namespace

void PlanRun::StartUnit(Turn& turn, const UnitKey& key, bool has_slot) {
  if (StartWithGivenResult(turn, key)) return;
  const PlanStep& step = progress_.plan->steps[key.step];
  if (key.role == UnitKey::Role::kStep && step.foreach) return StartLoop(turn, key.step);
  if (key.role != UnitKey::Role::kUndo && step.wait_for) return StartWait(turn, key);
  if (key.role != UnitKey::Role::kUndo && step.child) return StartChild(turn, key);
  if (!has_slot) {
    const auto concurrency_key = ConcurrencyKeyOf(key);
    if (!concurrency_key) return FailAtStart(turn, key, concurrency_key.error());
    // Without one it is told when it may; until then it is no longer among those to look at.
    if (!GetSlot(turn, key, *concurrency_key)) return progress_.SetAside(key);
  }
  StartTool(turn, key);
}

// An operator has said what the attempt's result is: nothing has to be done for it.
bool PlanRun::StartWithGivenResult(Turn& turn, const UnitKey& key) {
  if (progress_.overrides.empty()) return false;
  const auto override = progress_.overrides.find(IdOf(key));
  if (override == progress_.overrides.end()) return false;
  const Value given = override->second.Get("result");
  if (given.undefined()) return false;
  EmitStarted(turn, key, {});
  TaskOutcome outcome;
  outcome.result = ToJson(given);
  CompleteUnit(turn, key, outcome);
  return true;
}

Result<std::string> PlanRun::ConcurrencyKeyOf(const UnitKey& key) const {
  const Template& source = ActionOf(key).concurrency_key;
  if (source.empty()) return std::string();
  const auto rendered = source.Render(RunNames(progress_, run_id_, scope_).ForUnit(key));
  if (!rendered) return rendered.error();
  return ToText(*rendered);
}

bool PlanRun::GetSlot(Turn& turn, const UnitKey& key, const std::string& concurrency_key) {
  const Action& action = ActionOf(key);
  if (!tools_.Has(action.kind)) {
    missing_.insert(key);
    return false;
  }
  const bool unlimited = tools_.Immediate(action.kind) || tools_.WaitsForWorker(action.kind);
  if (concurrency_key.empty() && action.queue.empty() && unlimited) return true;
  if (turn.gate.MayStart(key, action, concurrency_key)) {
    slots_.insert(key);
    return true;
  }
  asked_.insert(key);
  return false;
}

Result<Value> PlanRun::RenderInputs(const UnitKey& key, const std::string& secret_prefix) const {
  const Action& action = ActionOf(key);
  RunNames names(progress_, run_id_, scope_);
  names.ForUnit(key).WithSecrets(secret_prefix);
  auto inputs = action.inputs.Render(names);
  if (!inputs) return inputs;
  if (progress_.overrides.empty() && progress_.targets.empty()) return inputs;
  const std::string unit_id = IdOf(key);
  const auto target = progress_.targets.find(unit_id);
  if (target != progress_.targets.end()) inputs = Overlay(std::move(*inputs), target->second);
  const auto override = progress_.overrides.find(unit_id);
  if (override != progress_.overrides.end()) {
    inputs = Overlay(std::move(*inputs), override->second.Get("inputs"));
  }
  return inputs;
}

// What StepStarted records: all that a delivery of this attempt needs.
Result<std::string> PlanRun::StartPayload(Turn& turn, const UnitKey& key) const {
  const Action& action = ActionOf(key);
  const bool plain = action.inputs.empty() && action.idempotency_key.empty() &&
                     progress_.overrides.empty() && progress_.targets.empty();
  if (plain) return std::string();
  std::string prefix;
  if (!action.secrets.empty()) prefix = "$secret-" + HexOf(turn.random) + ":";
  const auto inputs = RenderInputs(key, prefix);
  if (!inputs) return inputs.error();
  const std::string text = inputs->undefined() ? std::string() : ToJson(*inputs);
  if (text.size() > kInputBytesMax) return TooLarge("the input", text.size());
  std::string payload;
  JsonWriter json(payload);
  json.BeginObject();
  if (!text.empty() && text != "{}") json.RawMember("input", text);
  if (!prefix.empty()) json.Member("secretPrefix", prefix);
  if (!action.idempotency_key.empty()) {
    const auto own =
        action.idempotency_key.Render(RunNames(progress_, run_id_, scope_).ForUnit(key));
    if (!own) return own.error();
    json.Member("idempotencyKey", ToText(*own));
  }
  json.EndObject();
  if (payload == "{}") payload.clear();
  return payload;
}

void PlanRun::StartTool(Turn& turn, const UnitKey& key) {
  auto payload = StartPayload(turn, key);
  if (!payload) return FailAtStart(turn, key, payload.error());
  EmitStarted(turn, key, std::move(*payload));
  Dispatch(turn, key);
}

void PlanRun::EmitStarted(Turn& turn, const UnitKey& key, std::string payload) {
  const Unit* unit = progress_.Find(key);
  Event event = NewEvent(turn, EventType::kStepStarted, IdOf(key));
  event.logical_attempt = (unit == nullptr ? 0 : unit->logical_attempt) + 1;
  event.payload = std::move(payload);
  Emit(turn, std::move(event));
}

void PlanRun::Dispatch(Turn& turn, const UnitKey& key) {
  const Action& action = ActionOf(key);
  const Unit& unit = *progress_.Find(key);
  Task task;
  task.id = {run_id_, IdOf(key), unit.logical_attempt, unit.engine_attempt};
  task.kind = action.kind;
  task.inputs = unit.inputs;
  task.timeout = action.timeout;
  if (!tools_.Immediate(action.kind)) {
    task.queue = action.queue.empty() ? action.kind : action.queue;
    task.priority = action.priority;
    task.heartbeat_timeout = action.heartbeat_timeout;
    task.scope = scope_;
    task.secrets = action.secrets;
    task.secret_prefix = unit.secret_prefix;
    task.artifacts = progress_.plan->steps[key.step].artifacts;
    task.traceparent = progress_.origin.traceparent;
    task.tracestate = progress_.origin.tracestate;
    task.idempotency_key = unit.idempotency_key;
    if (task.idempotency_key.empty()) {
      task.idempotency_key =
          ToHex(Sha256(run_id_.value() + "|" + task.id.step_id + "|" +
                       std::to_string(unit.logical_attempt) + "|" + scope_.plan_version));
    }
  }
  ClearDeadlines(key);
  under_way_[key] = {};
  if (!tools_.WaitsForWorker(action.kind)) SetDeadlines(key, turn.now);
  turn.effects.dispatch.push_back(std::move(task));
}

// A step that brings its process down each time must not do so for ever. A task for a worker cannot
// bring this one down, and may have waited for a worker all the time: what counts is how often it
// was lost.
std::uint32_t PlanRun::DeliveriesThatCount(const UnitKey& key) const {
  const Unit& unit = *progress_.Find(key);
  if (!tools_.WaitsForWorker(ActionOf(key).kind)) return unit.engine_attempt;
  const auto losses = losses_.find(key);
  const bool of_attempt =
      losses != losses_.end() && losses->second.logical_attempt == unit.logical_attempt;
  return of_attempt ? losses->second.count : 0;
}

void PlanRun::Redeliver(Turn& turn, const UnitKey& key) {
  const Unit& unit = *progress_.Find(key);
  if (!slots_.contains(key)) {
    const auto concurrency_key = ConcurrencyKeyOf(key);  // it was well when the attempt began
    if (!GetSlot(turn, key, concurrency_key ? *concurrency_key : std::string())) return;
  }
  if (DeliveriesThatCount(key) >= options_.engine_attempts_max) {
    FailUnit(turn, key,
             TaskOutcome::Failure(
                 "DELIVERIES_EXHAUSTED",
                 "delivered " + std::to_string(unit.engine_attempt) + " times and never reported",
                 true, "PLATFORM"));
    return;
  }
  Event event = NewEvent(turn, EventType::kStepStarted, IdOf(key));
  event.logical_attempt = unit.logical_attempt;
  event.engine_attempt = unit.engine_attempt + 1;
  Emit(turn, std::move(event));
  Dispatch(turn, key);
}

void PlanRun::FailAtStart(Turn& turn, const UnitKey& key, const Error& error) {
  EmitStarted(turn, key, {});
  FailUnit(turn, key,
           TaskOutcome::Failure(std::string(Name(error.code)), error.message, false, "USER"));
}

void PlanRun::StartLoop(Turn& turn, StepIndex step) {
  const Foreach& foreach = *progress_.plan->steps[step].foreach;
  auto items = foreach.items.Render(RunNames(progress_, run_id_, scope_));
  if (!items) return FailAtStart(turn, {step}, items.error());
  if (items->kind() != Value::Kind::kList) {
    return FailAtStart(
        turn, {step},
        {ErrorCode::kExpressionFailed, "foreach needs a list, this is " + ToJson(*items), {}});
  }
  const std::string list = ToJson(*items);
  if (list.size() > kInputBytesMax)
    return FailAtStart(turn, {step}, TooLarge("the list", list.size()));
  if (items->list().size() > kItemsMax) {
    return FailAtStart(turn, {step},
                       {ErrorCode::kInvalidInput,
                        "the list has " + std::to_string(items->list().size()) +
                            " items; at most " + std::to_string(kItemsMax) + " are looped over",
                        {}});
  }
  EmitStarted(turn, {step}, R"({"input":{"items":)" + list + "}}");
}

void PlanRun::EmitWait(Turn& turn, std::string wait_id, Timestamp due_at) {
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
void PlanRun::EmitTimeout(Turn& turn, const UnitKey& key, std::optional<Milliseconds> timeout) {
  const auto& of_attempt = ActionOf(key).timeout;
  if (of_attempt && (!timeout || *of_attempt < *timeout)) timeout = of_attempt;
  if (!timeout) return;
  EmitWait(turn, PurposeId("timeout", IdOf(key), progress_.Find(key)->logical_attempt),
           turn.now + *timeout);
}

void PlanRun::StartWait(Turn& turn, const UnitKey& key) {
  const WaitFor& wait = *progress_.plan->steps[key.step].wait_for;
  if (wait.kind == WaitFor::Kind::kHook || wait.kind == WaitFor::Kind::kApproval) {
    return StartHook(turn, key);
  }
  const auto when = wait.when.Render(RunNames(progress_, run_id_, scope_).ForUnit(key));
  if (!when) return FailAtStart(turn, key, when.error());
  Timestamp due_at = turn.now;
  if (wait.kind == WaitFor::Kind::kDuration) {
    const auto duration = DurationOf(*when);
    if (!duration) {
      return FailAtStart(
          turn, key,
          {ErrorCode::kInvalidInput, "waitFor.duration is not a duration: " + ToJson(*when), {}});
    }
    due_at = turn.now + *duration;
  } else {
    const auto time =
        when->kind() == Value::Kind::kText ? ParseTimestamp(when->text()) : std::nullopt;
    if (!time) {
      return FailAtStart(turn, key,
                         {ErrorCode::kInvalidInput,
                          "waitFor.until is not an RFC 3339 time: " + ToJson(*when),
                          {}});
    }
    due_at = *time;
  }
  EmitStarted(turn, key, {});
  EmitWait(turn, PurposeId("wait", IdOf(key), progress_.Find(key)->logical_attempt), due_at);
  EmitTimeout(turn, key, std::nullopt);
}

void PlanRun::StartHook(Turn& turn, const UnitKey& key) {
  const WaitFor& wait = *progress_.plan->steps[key.step].wait_for;
  const RunNames names = RunNames(progress_, run_id_, scope_).ForUnit(key);
  std::string token;
  if (!wait.token.empty()) {
    const auto rendered = wait.token.Render(names);
    if (!rendered) return FailAtStart(turn, key, rendered.error());
    token = ToText(*rendered);
  }
  if (token.empty()) token = HexOf(turn.random);
  std::string prompt;
  if (!wait.prompt.empty()) {
    const auto rendered = wait.prompt.Render(names);
    if (!rendered) return FailAtStart(turn, key, rendered.error());
    prompt = ToText(*rendered);
  }
  EmitStarted(turn, key, {});
  const std::uint32_t attempt = progress_.Find(key)->logical_attempt;
  const std::string unit_id = IdOf(key);
  Event hook = NewEvent(turn, EventType::kHookCreated, PurposeId("hook", unit_id, attempt));
  hook.parent_id = unit_id;
  hook.facts.token = token;
  JsonWriter json(hook.payload);
  json.BeginObject();
  json.Member("token", token);
  json.Key("metadata");
  json.BeginObject();
  json.Member("kind", wait.kind == WaitFor::Kind::kApproval ? "approval" : "hook");
  if (!prompt.empty()) json.Member("prompt", prompt);
  json.EndObject();
  json.EndObject();
  if (!wait.token.empty()) turn.effects.reserved.emplace_back(token, hook.entity_id);
  Emit(turn, std::move(hook));
  EmitTimeout(turn, key, wait.timeout);
}

RunId PlanRun::ChildIdOf(const UnitKey& key) const {
  return ChildRunId(run_id_, IdOf(key), progress_.Find(key)->logical_attempt);
}

ChildOrder PlanRun::ChildOf(const UnitKey& key, const std::string& inputs) const {
  const ChildPlan& child = *progress_.plan->steps[key.step].child;
  const std::string unit_id = IdOf(key);
  ChildOrder order;
  order.run_id = ChildIdOf(key);
  const auto known = progress_.origin.children.find(
      child.reference.empty() ? ToHex(Sha256(child.document)) : child.reference);
  if (known != progress_.origin.children.end()) order.plan_sha256 = known->second;
  order.origin.scope = scope_;
  order.origin.inputs = inputs;
  order.origin.triggered_by = progress_.origin.triggered_by;
  order.origin.trigger_source = progress_.origin.trigger_source;
  order.origin.traceparent = progress_.origin.traceparent;
  order.origin.tracestate = progress_.origin.tracestate;
  order.origin.priority = progress_.origin.priority;
  order.origin.parent = run_id_;
  order.origin.parent_step = unit_id;
  order.origin.children = progress_.origin.children;
  return order;
}

void PlanRun::StartChild(Turn& turn, const UnitKey& key) {
  const auto inputs = RenderInputs(key, {});
  if (!inputs) return FailAtStart(turn, key, inputs.error());
  const std::string text = inputs->undefined() ? "{}" : ToJson(*inputs);
  if (text.size() > kInputBytesMax)
    return FailAtStart(turn, key, TooLarge("the input", text.size()));
  EmitStarted(turn, key, R"({"input":)" + text + "}");
  ChildOrder order = ChildOf(key, text);
  Event child = NewEvent(turn, EventType::kChildStarted, order.run_id.value());
  child.parent_id = IdOf(key);
  JsonWriter json(child.payload);
  json.BeginObject();
  json.Member("planSha256", order.plan_sha256);
  json.RawMember("input", text);
  json.EndObject();
  Emit(turn, std::move(child));
  children_told_.insert(order.run_id.value());
  turn.effects.children.push_back(std::move(order));
  EmitTimeout(turn, key, std::nullopt);
}

}  // namespace everstep
