#include "run/plan_run.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/json.h"
#include "event/catalogue.h"
#include "flow/operations_done.h"
#include "run/run_names.h"

namespace everstep {
namespace {

// Of expressions, before other runs have their turn: a few milliseconds.
constexpr std::uint64_t kOperationsPerTurn = 100'000;
// Of making an event, folding it and writing it to the disk.
constexpr std::uint64_t kOperationsPerEvent = 10;
constexpr std::uint64_t kBytesPerOperation = 8;

void WritePlanRef(JsonWriter& json, const Plan& plan, const std::string& uri) {
  const std::string sha256 = ToHex(plan.sha256);
  json.Key("planRef");
  json.BeginObject();
  json.Member("uri", uri.empty() ? "sha256:" + sha256 : uri);
  json.Member("sha256", sha256);
  json.Member("schemaVersion", plan.schema_version);
  json.Member("planId", plan.plan_id);
  json.Member("planVersion", plan.plan_version);
  json.EndObject();
}

void WriteText(JsonWriter& json, std::string_view key, const std::string& value) {
  if (!value.empty()) json.Member(key, value);
}

std::string QueuedPayload(const Plan& plan, const RunOrigin& origin) {
  std::string payload;
  JsonWriter json(payload);
  json.BeginObject();
  WriteText(json, "runRequestId", origin.request_id);
  if (!origin.inputs.empty() && origin.inputs != "{}") json.RawMember("input", origin.inputs);
  json.Member("planSha256", ToHex(plan.sha256));
  WriteText(json, "planUri", origin.uri);
  WriteText(json, "triggeredBy", origin.triggered_by);
  WriteText(json, "triggerSource", origin.trigger_source);
  WriteText(json, "traceparent", origin.traceparent);
  WriteText(json, "tracestate", origin.tracestate);
  WriteText(json, "concurrencyKey", origin.concurrency_key);
  if (origin.priority != 0) {
    json.Key("priority");
    json.Int(origin.priority);
  }
  if (origin.queue_position > 0) json.Member("queuePosition", origin.queue_position);
  if (origin.queued_at != Timestamp{}) json.Member("queuedAt", FormatTimestamp(origin.queued_at));
  if (origin.start_at != Timestamp{}) json.Member("startAt", FormatTimestamp(origin.start_at));
  WriteText(json, "parentRunId", origin.parent.value());
  WriteText(json, "parentStepId", origin.parent_step);
  WriteText(json, "originalRunId", origin.original.value());
  if (!origin.children.empty()) {
    json.Key("children");
    json.BeginObject();
    for (const auto& [reference, sha256] : origin.children) json.Member(reference, sha256);
    json.EndObject();
  }
  json.EndObject();
  return payload;
}

std::string StartedPayload(const Plan& plan, const RunOrigin& origin, const RunScope& scope,
                           Timestamp now) {
  std::string payload;
  JsonWriter json(payload);
  json.BeginObject();
  json.Member("status", "RUNNING");
  json.Member("engineType", "everstep");
  WritePlanRef(json, plan, origin.uri);
  json.Key("context");
  json.BeginObject();
  json.Member("tenantId", scope.tenant_id);
  json.Member("projectId", scope.project_id);
  json.Member("environmentId", scope.environment_id);
  WriteText(json, "triggeredBy", origin.triggered_by);
  WriteText(json, "triggerSource", origin.trigger_source);
  json.EndObject();
  json.Member("startedAt", FormatTimestamp(now));
  json.EndObject();
  return payload;
}

}  // namespace

PlanRun::PlanRun(RunId run_id, std::shared_ptr<const Plan> plan, const ToolBox& tools,
                 Options options)
    : run_id_(std::move(run_id)), tools_(tools), options_(options), progress_(std::move(plan)) {}

Event PlanRun::NewEvent(const Turn& turn, EventType type, std::string entity_id) const {
  Event event;
  event.type = type;
  event.entity_id = std::move(entity_id);
  event.emitted_at = turn.now;
  return event;
}

void PlanRun::Emit(Turn& turn, Event event) {
  AddOperations(kOperationsPerEvent + event.payload.size() / kBytesPerOperation);
  event.seq = Next(progress_.last_seq);
  progress_.Apply(event);
  EventWrite write;
  write.type = event.type;
  if (event.seq.value() == 1) write.scope = scope_;
  write.entity_id = std::move(event.entity_id);
  write.instance_id = std::move(event.instance_id);
  write.parent_id = std::move(event.parent_id);
  // A delivery after the first is told from it by its own key, which the authority makes.
  const bool redelivery = event.type == EventType::kStepStarted && event.engine_attempt > 1;
  const bool of_attempt = SpecOf(event.type).entity == EntityKind::kStep && !redelivery;
  write.logical_attempt = of_attempt ? event.logical_attempt : 0;
  write.engine_attempt = SpecOf(event.type).entity == EntityKind::kStep ? event.engine_attempt : 0;
  write.emitted_at = event.emitted_at;
  write.emitted_by = "engine";
  write.facts = std::move(event.facts);
  write.payload = std::move(event.payload);
  turn.writes.push_back(std::move(write));
}

const Action& PlanRun::ActionOf(const UnitKey& key) const {
  const PlanStep& step = progress_.plan->steps[key.step];
  return key.role == UnitKey::Role::kUndo ? *step.compensate : step.action;
}

bool PlanRun::IsTool(const UnitKey& key) const {
  if (key.role == UnitKey::Role::kUndo) return true;
  const PlanStep& step = progress_.plan->steps[key.step];
  if (step.wait_for || step.child) return false;
  return key.role == UnitKey::Role::kItem || !step.foreach;
}

// ---- orders

void PlanRun::Queue(Turn& turn, const RunOrigin& origin) {
  scope_ = origin.scope;
  Event event = NewEvent(turn, EventType::kRunQueued, {});
  event.payload = QueuedPayload(*progress_.plan, origin);
  event.facts.engine_run_ref = kOwnEngine;
  Emit(turn, std::move(event));
  progress_.origin = origin;
  if (origin.start_at != Timestamp{}) EmitWait(turn, "start", origin.start_at);
}

void PlanRun::Approve(Turn& turn, const Actor& actor, std::string_view reason,
                      Timestamp queued_at) {
  Event event = NewEvent(turn, EventType::kRunApproved, {});
  JsonWriter json(event.payload);
  json.BeginObject();
  json.Member("approvedBy", actor.id);
  if (!reason.empty()) json.Member("reason", reason);
  if (queued_at != Timestamp{}) json.Member("queuedAt", FormatTimestamp(queued_at));
  json.EndObject();
  Emit(turn, std::move(event));
}

void PlanRun::Begin(Turn& turn) {
  Event event = NewEvent(turn, EventType::kRunStarted, {});
  event.facts.started_at = turn.now;
  event.payload = StartedPayload(*progress_.plan, progress_.origin, scope_, turn.now);
  Emit(turn, std::move(event));
  if (const auto& timeout = progress_.plan->timeout) {
    EmitWait(turn, "run-timeout", turn.now + *timeout);
  }
  Advance(turn);
}

bool PlanRun::Report(Turn& turn, const TaskId& task, const TaskOutcome& outcome) {
  // A delivery that was given up reports late.
  if (IsTerminal(status()) || !Runs(task)) return false;
  FinishUnit(turn, UnitNamed(*progress_.plan, task.step_id), outcome);
  Advance(turn);
  return true;
}

bool PlanRun::Runs(const TaskId& task) const {
  const Unit* unit = progress_.Find(UnitNamed(*progress_.plan, task.step_id));
  return unit != nullptr && unit->status == EntityStatus::kRunning &&
         unit->logical_attempt == task.logical_attempt &&
         unit->engine_attempt == task.engine_attempt;
}

void PlanRun::SlotGranted(Turn& turn, const UnitKey& key) {
  const bool goes_on = progress_.ending == PlanProgress::Ending::kNone
                           ? status() == RunStatus::kRunning
                           : IsEnding() && OutlivesEnding(key);
  if (asked_.erase(key) == 0) return;  // withdrawn, and given back with that
  if (!goes_on) {
    turn.effects.freed_slots.push_back(key);
    return;
  }
  slots_.insert(key);
  if (progress_.running.contains(key)) {
    Redeliver(turn, key);
  } else {
    StartUnit(turn, key, true);
  }
  Advance(turn);
}

bool PlanRun::OutlivesEnding(const UnitKey& key) const {
  return key.role == UnitKey::Role::kUndo ||
         (IsTool(key) && !ActionOf(key).cancellable && progress_.running.contains(key));
}

bool PlanRun::IsEnding() const {
  const bool suspended = status() == RunStatus::kPaused &&
                         progress_.ending == PlanProgress::Ending::kFailing &&
                         progress_.ending_signal.empty();
  return progress_.ending != PlanProgress::Ending::kNone && !suspended;
}

// ---- what follows

void PlanRun::Advance(Turn& turn) {
  // Whether a token that the plan chose was free is known when it is written: nothing may rest on
  // it before that.
  const std::uint64_t done_before = OperationsDone();
  const auto is_full = [this, &turn, done_before] {
    return !IsTerminal(status()) &&
           (turn.writes.size() >= kEventsPerTurn || !turn.effects.reserved.empty() ||
            OperationsDone() - done_before >= kOperationsPerTurn);
  };
  more_ = !IsTerminal(status()) && !turn.effects.reserved.empty();
  while (!more_ && AdvanceOne(turn)) more_ = is_full();
  if (more_) return;
  EVERSTEP_ASSERT(HasReasonToWake(turn));
}

bool PlanRun::AdvanceOne(Turn& turn) {
  if (IsTerminal(status())) return false;
  if (progress_.ending != PlanProgress::Ending::kNone) return AdvanceEnding(turn);
  if (status() != RunStatus::kRunning) return false;
  if (!progress_.hook_conflicts.empty() && AdvanceConflicts(turn)) return true;
  if (AdvanceDoomed(turn)) return true;
  if (turn.may_start) {
    if (AdvanceReady(turn) || AdvanceRetries(turn)) return true;
  }
  if (AdvanceLoops(turn)) return true;
  if (progress_.open_steps > 0) return false;
  Complete(turn);
  return true;
}

bool PlanRun::AdvanceDoomed(Turn& turn) {
  if (progress_.doomed.empty()) return false;
  Skip(turn, {*progress_.doomed.begin()}, "DEPENDENCY_FAILED", "a step it depends on failed");
  return true;
}

bool PlanRun::AdvanceReady(Turn& turn) {
  if (progress_.ready.empty()) return false;
  StartOrSkip(turn, progress_.ready.begin()->step);
  return true;
}

void PlanRun::StartOrSkip(Turn& turn, StepIndex step) {
  const PlanStep& spec = progress_.plan->steps[step];
  const PlanProgress::Dependencies& dependencies = progress_.dependencies[step];
  if (spec.fallback_of != kNoStep && !progress_.fallback_needed[step]) {
    return Skip(turn, {step}, "CONDITION_FALSE", "the step it stands in for did not need it");
  }
  if (!spec.depends_on.empty() && dependencies.through == 0) {
    return Skip(turn, {step}, dependencies.skip_code, "all steps it depends on were skipped");
  }
  if (!spec.when.empty()) {
    const auto wanted = spec.when.Render(RunNames(progress_, run_id_, scope_));
    if (!wanted) return FailAtStart(turn, {step}, wanted.error());
    if (!IsTrue(*wanted)) return Skip(turn, {step}, "CONDITION_FALSE", "its condition is false");
  }
  StartUnit(turn, {step}, false);
}

bool PlanRun::AdvanceRetries(Turn& turn) {
  if (progress_.retry_ready.empty()) return false;
  const UnitKey key = *progress_.retry_ready.begin();
  if (asked_.contains(key) || missing_.contains(key)) {
    progress_.SetAside(key);
  } else {
    StartUnit(turn, key, false);
  }
  return true;
}

bool PlanRun::AdvanceConflicts(Turn& turn) {
  for (const std::string& hook_id : progress_.hook_conflicts) {
    const Purpose purpose = PurposeOf(hook_id);
    const UnitKey key = UnitNamed(*progress_.plan, purpose.unit_id);
    const Unit* unit = progress_.Find(key);
    if (unit == nullptr || unit->status != EntityStatus::kRunning ||
        unit->logical_attempt != purpose.attempt) {
      continue;
    }
    FailUnit(turn, key,
             TaskOutcome::Failure("HOOK_CONFLICT", "its token belongs to another active hook", true,
                                  "USER"));
    return true;
  }
  return false;
}

void PlanRun::Skip(Turn& turn, const UnitKey& key, std::string_view code, std::string_view reason) {
  const Unit* unit = progress_.Find(key);
  const bool attempted = unit != nullptr && unit->status == EntityStatus::kFailed;
  Event event = NewEvent(turn, EventType::kStepSkipped, IdOf(key));
  event.logical_attempt = attempted ? unit->logical_attempt + 1 : 1;
  JsonWriter json(event.payload);
  json.BeginObject();
  json.Member("reason", reason);
  json.Member("reasonCode", code);
  json.EndObject();
  Emit(turn, std::move(event));
}

void PlanRun::Complete(Turn& turn) {
  std::string result;
  if (!progress_.plan->outputs.empty()) {
    const auto rendered = progress_.plan->outputs.Render(RunNames(progress_, run_id_, scope_));
    if (!rendered) return FailOutputs(turn, rendered.error());
    result = ToJson(*rendered);
  }
  Event event = NewEvent(turn, EventType::kRunCompleted, {});
  JsonWriter json(event.payload);
  json.BeginObject();
  if (!result.empty()) json.RawMember("result", result);
  const auto took = std::chrono::duration_cast<Milliseconds>(turn.now - progress_.started_at);
  json.Key("durationMs");
  json.Int(std::max<std::int64_t>(0, took.count()));
  json.EndObject();
  Emit(turn, std::move(event));
}

// A run that goes on has something that will come by itself, or somebody who was told.
bool PlanRun::HasReasonToWake(const Turn& turn) const {
  if (status() != RunStatus::kRunning) return true;  // ended, or an order will come
  if (!progress_.running.empty() || !progress_.held.empty() || !asked_.empty() ||
      !missing_.empty() || !turn.may_start) {
    return true;
  }
  return std::ranges::any_of(progress_.waits, [this](const auto& wait) {
    const Purpose purpose = PurposeOf(wait.first);
    const Unit* unit = progress_.Find(UnitNamed(*progress_.plan, purpose.unit_id));
    return purpose.what == "retry" && unit != nullptr && unit->will_retry;
  });
}

bool PlanRun::Parked() const {
  return under_way_.empty() && asked_.empty() && slots_.empty() && !more();
}

}  // namespace everstep
