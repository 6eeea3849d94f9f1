#include "run/execution.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/json.h"
#include "event/catalogue.h"
#include "flow/operations_done.h"
#include "run/turn_commands.h"

namespace everstep {
namespace {

// Of expressions, before other runs have their turn: a few milliseconds.
constexpr std::uint64_t kOperationsPerTurn = 100'000;
// Of making an event, folding it and writing it to the disk.
constexpr std::uint64_t kOperationsPerEvent = 10;
constexpr std::uint64_t kBytesPerOperation = 8;
constexpr std::uint64_t kBytesPerEvent = 64;  // of memory; an estimate
// Version of what Encode writes.
constexpr std::uint32_t kCheckpointVersion = 2;

void WriteProgramRef(JsonWriter& json, const CompiledProgram& program, const std::string& uri) {
  json.Key("planRef");
  json.BeginObject();
  json.Member("uri", uri.empty() ? "sha256:" + program.ref().sha256 : uri);
  json.Member("sha256", program.ref().sha256);
  json.Member("schemaVersion", program.schema_version());
  json.Member("planId", program.id());
  json.Member("planVersion", program.version());
  json.EndObject();
}

void WriteText(JsonWriter& json, std::string_view key, const std::string& value) {
  if (!value.empty()) json.Member(key, value);
}

std::string QueuedPayload(const ProgramRef& program, const RunOrigin& origin) {
  std::string payload;
  JsonWriter json(payload);
  json.BeginObject();
  WriteText(json, "runRequestId", origin.request_id);
  if (!origin.inputs.empty() && origin.inputs != "{}") json.RawMember("input", origin.inputs);
  WriteProgram(json, program);
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

std::string StartedPayload(const CompiledProgram& program, const RunOrigin& origin,
                           const RunScope& scope, Timestamp now) {
  std::string payload;
  JsonWriter json(payload);
  json.BeginObject();
  json.Member("status", "RUNNING");
  json.Member("engineType", "everstep");
  WriteProgramRef(json, program, origin.uri);
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

Execution::Execution(RunId run_id, std::shared_ptr<const CompiledProgram> program,
                     const ToolBox& tools, Options options)
    : state_{std::move(run_id), {}, {}, {}},
      compiled_(std::move(program)),
      program_(compiled_->Instantiate(state_)),
      tools_(tools),
      options_(options) {
  EVERSTEP_ASSERT(program_ != nullptr);
}

Execution::~Execution() = default;

void Execution::Apply(const Event& event) {
  EVERSTEP_ASSERT(program_ != nullptr && event.seq == Next(state_.run.last_seq));
  folded_bytes_ += kBytesPerEvent + event.payload.size();
  if (!IsKnown(event.type)) {
    state_.run.last_seq = event.seq;
    return;
  }
  const RunProgress::Order order = state_.run.Apply(event);
  ActivityChange change = state_.activities.Apply(event);
  const bool attempt_began =
      event.type == EventType::kStepStarted && change.before != EntityStatus::kRunning;
  if (attempt_began && !state_.run.overrides.empty()) {
    state_.run.overrides.erase(event.entity_id);  // it was for this attempt
  }
  if (!order.type.empty()) {
    // An operator's order gives an activity that has failed another attempt.
    const ActivityNo no = state_.activities.Find(order.activity_id);
    if (no != kNoActivity && at(no).failed() && program_->MayRevive(no)) {
      state_.activities.Revive(no);
      change = {no, at(no).status, true};
    }
  }
  program_->Apply(event, change);
}

std::string Execution::Encode(std::size_t bytes_max) const {
  std::string bytes;
  StateEncoder codec(bytes, bytes_max);
  codec(kCheckpointVersion, state_.run);
  state_.activities.Encode(codec);
  program_->Encode(codec);
  return bytes;
}

bool Execution::Decode(std::string_view bytes) {
  EVERSTEP_ASSERT(state_.run.last_seq == EventSeq());
  StateDecoder codec(bytes);
  std::uint32_t version = 0;
  codec(version);
  if (version != kCheckpointVersion) return false;
  codec(state_.run);
  if (!codec.ok() || !(state_.run.program == compiled_->ref())) return false;
  state_.activities.Decode(codec);
  if (codec.ok()) program_->Decode(codec);
  folded_bytes_ = bytes.size();
  return codec.ok() && codec.AtEnd();
}

Event Execution::NewEvent(const Turn& turn, EventType type, std::string entity_id) const {
  Event event;
  event.type = type;
  event.entity_id = std::move(entity_id);
  event.emitted_at = turn.now;
  return event;
}

void Execution::Emit(Turn& turn, Event event) {
  EVERSTEP_ASSERT(!IsTerminal(status()) || event.facts.escalation);
  AddOperations(kOperationsPerEvent + event.payload.size() / kBytesPerOperation);
  event.seq = Next(state_.run.last_seq);
  Apply(event);
  EVERSTEP_ASSERT(state_.run.last_seq == event.seq);
  EventWrite write;
  write.type = event.type;
  if (event.seq.value() == 1) write.scope = state_.scope;
  write.entity_id = std::move(event.entity_id);
  write.instance_id = std::move(event.instance_id);
  write.parent_id = std::move(event.parent_id);
  // The authority makes the key of a redelivery, which tells it apart from the first delivery.
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

TaskId Execution::TaskOf(ActivityNo no) const {
  const Activity& activity = at(no);
  return {state_.run_id, activity.id, activity.logical_attempt, activity.engine_attempt};
}

bool Execution::IsTool(ActivityNo no) const {
  return program_->WorkOf(no) == Work::kTool && !at(no).submitted;
}

std::set<std::string> Execution::RunningIds() const {
  std::set<std::string> ids;
  for (const ActivityNo no : state_.activities.running()) ids.insert(IdOf(no));
  return ids;
}

// ---- orders

void Execution::Queue(Turn& turn, const RunOrigin& origin) {
  EVERSTEP_ASSERT(status() == RunStatus::kAbsent);
  state_.scope = origin.scope;
  Event event = NewEvent(turn, EventType::kRunQueued, {});
  event.payload = QueuedPayload(compiled_->ref(), origin);
  event.facts.engine_run_ref = kOwnEngine;
  Emit(turn, std::move(event));
  if (origin.start_at != Timestamp{}) EmitWait(turn, "start", origin.start_at);
}

void Execution::Approve(Turn& turn, const Actor& actor, std::string_view reason,
                        Timestamp queued_at) {
  EVERSTEP_ASSERT(status() == RunStatus::kPending);
  Event event = NewEvent(turn, EventType::kRunApproved, {});
  JsonWriter json(event.payload);
  json.BeginObject();
  json.Member("approvedBy", actor.id);
  if (!reason.empty()) json.Member("reason", reason);
  if (queued_at != Timestamp{}) json.Member("queuedAt", FormatTimestamp(queued_at));
  json.EndObject();
  Emit(turn, std::move(event));
}

void Execution::Begin(Turn& turn) {
  EVERSTEP_ASSERT(status() == RunStatus::kPending || status() == RunStatus::kApproved);
  Event event = NewEvent(turn, EventType::kRunStarted, {});
  event.facts.started_at = turn.now;
  event.payload = StartedPayload(*compiled_, state_.run.origin, state_.scope, turn.now);
  Emit(turn, std::move(event));
  if (const auto timeout = compiled_->timeout()) EmitWait(turn, "run-timeout", turn.now + *timeout);
  Advance(turn);
}

bool Execution::Report(Turn& turn, const TaskId& task, const TaskOutcome& outcome) {
  // A delivery that was given up reports late.
  if (IsTerminal(status()) || !Runs(task)) return false;
  const ActivityNo no = state_.activities.Find(task.step_id);
  const std::string hook_id = PurposeId("hook", task.step_id, task.logical_attempt);
  const bool has_hook = state_.activities.hooks().contains(hook_id);
  if (has_hook && outcome.succeeded) {
    // The call has returned; the hook brings the result.
    LeaveProcess(turn, no);
    Event event = NewEvent(turn, EventType::kToolProcessed,
                           PurposeId("call", task.step_id, task.logical_attempt));
    event.parent_id = task.step_id;
    if (!outcome.result.empty()) event.payload = R"({"result":)" + outcome.result + "}";
    Emit(turn, std::move(event));
    AwaitHeartbeat(no, turn.now);
  } else {
    if (has_hook) Emit(turn, NewEvent(turn, EventType::kHookDisposed, hook_id));
    Finish(turn, no, outcome);
  }
  Advance(turn);
  return true;
}

bool Execution::Runs(const TaskId& task) const {
  const ActivityNo no = state_.activities.Find(task.step_id);
  return no != kNoActivity && at(no).running() && !at(no).submitted &&
         at(no).logical_attempt == task.logical_attempt &&
         at(no).engine_attempt == task.engine_attempt;
}

void Execution::SlotGranted(Turn& turn, const std::string& activity_id) {
  const ActivityNo no = state_.activities.Find(activity_id);
  if (no == kNoActivity || !ForgetRequest(no)) return;  // withdrawn, and given back with that
  const bool goes_on =
      state_.run.is_ending() ? IsEnding() && OutlivesEnding(no) : status() == RunStatus::kRunning;
  if (!goes_on) {
    turn.effects.freed_slots.push_back(activity_id);
    return;
  }
  slots_.insert(no);
  if (at(no).running()) {
    Redeliver(turn, no);
  } else {
    Schedule(turn, no, true);
  }
  Advance(turn);
}

bool Execution::OutlivesEnding(ActivityNo no) const {
  return program_->IsCompensation(no) ||
         (IsTool(no) && at(no).running() && !program_->SpecOf(no).cancellable);
}

bool Execution::IsEnding() const {
  const bool suspended = status() == RunStatus::kPaused &&
                         state_.run.ending == RunProgress::Ending::kFailing &&
                         state_.run.ending_signal.empty();
  return state_.run.is_ending() && !suspended;
}

// ---- what follows

void Execution::Advance(Turn& turn) {
  // Whether a token that the program chose was free is known when it is written: nothing may rest
  // on it before that.
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

bool Execution::AdvanceOne(Turn& turn) {
  if (IsTerminal(status())) return false;
  if (state_.run.is_ending()) return AdvanceEnding(turn);
  if (status() != RunStatus::kRunning) return false;
  if (!state_.activities.hook_conflicts().empty() && AdvanceConflicts(turn)) return true;
  if (AdvanceRequests(turn)) return true;
  TurnCommands commands(*this, turn);
  return program_->Next(commands);
}

// Activities that could not request a slot while too many others did.
bool Execution::AdvanceRequests(Turn& turn) {
  EVERSTEP_ASSERT(unasked_.size() <= asked_.size());
  const bool waits = unasked_.empty() || asked_.size() - unasked_.size() >= kRequestsMax;
  if (!turn.may_start || waits) return false;
  const ActivityNo no = unasked_.begin()->second;
  (void)ForgetRequest(no);
  if (at(no).running()) {
    Redeliver(turn, no);
  } else {
    Schedule(turn, no, false);
  }
  return true;
}

bool Execution::AdvanceConflicts(Turn& turn) {
  for (const std::string& hook_id : state_.activities.hook_conflicts()) {
    const Purpose purpose = PurposeOf(hook_id);
    const ActivityNo no = state_.activities.Find(purpose.activity_id);
    if (no == kNoActivity || !at(no).running() || at(no).logical_attempt != purpose.attempt) {
      continue;
    }
    FailActivity(turn, no,
                 TaskOutcome::Failure("HOOK_CONFLICT", "its token belongs to another active hook",
                                      true, "USER"));
    return true;
  }
  return false;
}

void Execution::Skip(Turn& turn, ActivityNo no, std::string_view code, std::string_view reason) {
  EVERSTEP_ASSERT(!at(no).running());
  const bool attempted = at(no).failed();
  Event event = NewEvent(turn, EventType::kStepSkipped, IdOf(no));
  event.logical_attempt = attempted ? at(no).logical_attempt + 1 : 1;
  JsonWriter json(event.payload);
  json.BeginObject();
  json.Member("reason", reason);
  json.Member("reasonCode", code);
  json.EndObject();
  Emit(turn, std::move(event));
}

void Execution::Complete(Turn& turn, const std::string& result) {
  Event event = NewEvent(turn, EventType::kRunCompleted, {});
  JsonWriter json(event.payload);
  json.BeginObject();
  if (!result.empty()) json.RawMember("result", result);
  const auto took = std::chrono::duration_cast<Milliseconds>(turn.now - state_.run.started_at);
  json.Key("durationMs");
  json.Int(std::max<std::int64_t>(0, took.count()));
  json.EndObject();
  Emit(turn, std::move(event));
}

// A run that goes on has something that comes by itself, or somebody who was notified.
bool Execution::HasReasonToWake(const Turn& turn) const {
  if (status() != RunStatus::kRunning) return true;  // ended, or an order will come
  if (!state_.activities.running().empty() || !state_.activities.held().empty() ||
      !asked_.empty() || !missing_.empty() || !turn.may_start) {
    return true;
  }
  return std::ranges::any_of(state_.activities.waits(), [this](const auto& wait) {
    const Purpose purpose = PurposeOf(wait.first);
    const ActivityNo no = state_.activities.Find(purpose.activity_id);
    return purpose.what == "retry" && no != kNoActivity && at(no).will_retry;
  });
}

bool Execution::Parked() const {
  return under_way_.empty() && silent_at_.empty() && asked_.empty() && slots_.empty() && !more();
}

}  // namespace everstep
