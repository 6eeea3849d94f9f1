#include "serve/devkit/world_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/json.h"
#include "event/dialect.h"
#include "serve/devkit/cbor_json.h"
#include "serve/devkit/world_event.h"

namespace everstep {
namespace {

constexpr std::uint32_t kSpecWithNoop = 7;
constexpr std::size_t kStepEventsMax = 32;  // of the last, among which its failure is looked for

std::string_view StatusOf(RunStatus status) {
  switch (status) {
    case RunStatus::kRunning:
    case RunStatus::kPaused:
      return "running";
    case RunStatus::kCompleted:
      return "completed";
    case RunStatus::kFailed:
      return "failed";
    case RunStatus::kCancelled:
      return "cancelled";
    default:
      return "pending";
  }
}

std::string_view StatusOf(const EntityState& step) {
  switch (step.status) {
    case EntityStatus::kRunning:
      return "running";
    case EntityStatus::kSuccess:
      return "completed";
    case EntityStatus::kSkipped:
      return "cancelled";
    case EntityStatus::kFailed:
      return step.will_retry ? "pending" : "failed";
    default:
      return "pending";
  }
}

void WriteMember(std::string_view object, std::string_view from, std::string_view to,
                 CborWriter& cbor) {
  const auto value = RawMember(object, from);
  if (!value || *value == "null") return;
  cbor.Key(to);
  WriteCbor(*value, cbor);
}

void WriteTime(std::string_view key, Timestamp time, CborWriter& cbor) {
  if (time != Timestamp{}) cbor.Member(key, time);
}

// Writes an attribute that the event's writer stored beside its data.
void WriteAttribute(const Event& event, std::string_view name, CborWriter& cbor) {
  WriteMember(event.attributes.empty() ? "{}" : event.attributes, name, name, cbor);
}
void WriteSpec(const Event& event, CborWriter& cbor) { WriteAttribute(event, "specVersion", cbor); }

// Writes the event's data without its opaque member, or nothing if no other members are left.
void WriteData(std::string_view data, std::string_view without, CborWriter& cbor) {
  if (without.empty()) {
    cbor.Key("eventData");
    return WriteCbor(data, cbor);
  }
  std::string left;
  CborWriter members(left);
  WriteCborWithout(data, without, members);
  constexpr std::size_t kEmptyMap = 2;
  if (left.size() <= kEmptyMap) return;
  cbor.Key("eventData");
  WriteCborWithout(data, without, cbor);
}

// Selects a single event.
EventQuery At(EventSeq seq) {
  return {.after = EventSeq(seq.value() - 1), .until = seq, .limit = 1};
}

WorldOutcome Failed(const Error& error) { return WorldErrorOf(error); }

}  // namespace

Detail DetailOf(const CborItem& args) {
  return args.Text("resolveData") == "none" ? Detail::kOutline : Detail::kFull;
}

std::variant<StoredRun, WorldError> WorldReader::FindRun(std::string_view run_id) {
  auto run = reader_.FindRun(RunId(std::string(run_id)));
  if (!run) return WorldErrorOf(run.error());
  if (!*run || (*run)->state.scope.tenant_id != tenant_id_) return WorldError::NoRun(run_id);
  if (!(*run)->quarantine.empty()) {
    return WorldErrorOf(Error{ErrorCode::kRunQuarantined, (*run)->quarantine, {}});
  }
  return std::move(**run);
}

Result<std::vector<Event>> WorldReader::ReadEvents(const StoredRun& run, const EventQuery& query) {
  const bool range = !query.entity && !query.newest_first && query.after < query.until;
  const bool known = !known_.empty() && range && Next(query.after) >= known_.front().seq &&
                     query.until <= known_.back().seq;
  if (!known) return reader_.ReadEvents(run, query);
  const std::uint64_t first = Next(query.after).value() - known_.front().seq.value();
  const std::uint64_t count = query.until.value() - query.after.value();
  const auto part = known_.subspan(first, std::min<std::uint64_t>(count, query.limit));
  return std::vector<Event>(part.begin(), part.end());
}

Result<std::string> WorldReader::LastPayload(const StoredRun& run, EventType type, EventSeq until) {
  const EventSeq seq = run.state.last_of_type[static_cast<std::size_t>(type)];
  if (seq == EventSeq() || seq > until) return std::string();
  auto events = ReadEvents(run, At(seq));
  if (!events) return std::move(events).error();
  if (events->empty()) return std::string();
  return std::move(events->front().payload);
}

Result<std::string> WorldReader::CreationOf(const StoredRun& run) {
  return LastPayload(run, EventType::kRunQueued, run.state.last_seq);
}

Result<RunAttributes> WorldReader::AttributesOf(const StoredRun& run) {
  const auto created = CreationOf(run);
  if (!created) return created.error();
  return ReadAttributes(reader_, run, created->empty() ? "{}" : *created, attributes_, rows_read_);
}

WorldOutcome WorldReader::WriteRun(const StoredRun& run, Detail resolve, CborWriter& cbor) {
  const RunState& state = run.state;
  auto events = ReadEvents(run, At(EventSeq(1)));
  if (!events) return Failed(events.error());
  static const Event kNone;
  const Event& first = events->empty() ? kNone : events->front();
  std::string_view created = "{}";
  if (first.type == EventType::kRunQueued && !first.payload.empty()) created = first.payload;
  const auto attributes = ReadAttributes(reader_, run, created, attributes_, rows_read_);
  if (!attributes) return Failed(attributes.error());
  cbor.BeginMap();
  cbor.Member("runId", run.run_id.value());
  cbor.Member("status", StatusOf(state.status));
  cbor.Member("deploymentId", state.scope.plan_version);
  cbor.Member("workflowName", state.scope.plan_id);
  WriteSpec(first, cbor);
  WriteMember(created, "executionContext", "executionContext", cbor);
  WriteMember(created, "encryptionPublicKey", "encryptionPublicKey", cbor);
  if (resolve == Detail::kFull) WriteMember(created, "input", "input", cbor);
  if (state.status == RunStatus::kCompleted && resolve == Detail::kFull) {
    const auto payload = LastPayload(run, EventType::kRunCompleted, state.last_seq);
    if (!payload) return Failed(payload.error());
    if (!payload->empty()) WriteMember(*payload, "output", "output", cbor);
  }
  if (state.status == RunStatus::kFailed) {
    const auto payload = LastPayload(run, EventType::kRunFailed, state.last_seq);
    if (!payload) return Failed(payload.error());
    if (!payload->empty()) WriteMember(*payload, "error", "error", cbor);
    if (!state.error_code.empty()) cbor.Member("errorCode", state.error_code);
  }
  cbor.Key("attributes");
  cbor.BeginMap();
  for (const auto& [key, value] : *attributes) cbor.Member(key, value);
  cbor.End();
  WriteTime("startedAt", state.started_at, cbor);
  WriteTime("completedAt", state.completed_at, cbor);
  WriteTime("createdAt", state.created_at, cbor);
  WriteTime("updatedAt", state.updated_at, cbor);
  cbor.End();
  return std::nullopt;
}

WorldOutcome WorldReader::WriteStep(const StoredRun& run, const std::string& step_id,
                                    const EntityState& step, Detail resolve, CborWriter& cbor) {
  // The first and the last event describe a step. One that was tried more than once also needs its
  // last failure and its completion, which a few other events may follow.
  std::vector<Event> events;
  const auto read = [&](const EventQuery& query) -> Status {
    auto found = ReadEvents(run, query);
    if (!found) return std::move(found).error();
    if (query.newest_first) std::ranges::reverse(*found);
    std::ranges::move(*found, std::back_inserter(events));
    return Ok();
  };
  Status done = read(At(step.first_seq));
  if (done && (step.starts > 1 || step.status == EntityStatus::kFailed)) {
    done = read({.after = step.first_seq,
                 .until = step.last_seq,
                 .entity = EntityKey{EntityKind::kStep, step_id},
                 .limit = kStepEventsMax,
                 .newest_first = true});
  } else if (done && step.last_seq != step.first_seq) {
    done = read(At(step.last_seq));
  }
  if (!done) return Failed(done.error());
  if (events.empty()) return WorldError::NotFound("Step \"" + step_id + "\" not found");
  const Event& first = events.front();
  const Event* failure = nullptr;
  const Event* completion = nullptr;
  for (const Event& event : events) {
    if (event.type == EventType::kStepFailed) failure = &event;
    if (event.type == EventType::kStepCompleted) completion = &event;
  }
  const std::string_view created = first.payload.empty() ? "{}" : std::string_view(first.payload);
  cbor.BeginMap();
  cbor.Member("runId", run.run_id.value());
  cbor.Member("stepId", step_id);
  WriteMember(created, "stepName", "stepName", cbor);
  cbor.Member("status", StatusOf(step));
  cbor.Member("attempt", static_cast<std::uint64_t>(step.starts));
  WriteSpec(first, cbor);
  if (resolve == Detail::kFull) {
    WriteMember(created, "input", "input", cbor);
    if (completion != nullptr && !completion->payload.empty()) {
      WriteMember(completion->payload, "result", "output", cbor);
    }
  }
  if (failure != nullptr && !failure->payload.empty()) {
    WriteMember(failure->payload, "error", "error", cbor);
    WriteMember(failure->payload, "stack", "stack", cbor);
  }
  WriteTime("startedAt", step.started_at, cbor);
  const std::string_view status = StatusOf(step);
  if (status == "completed" || status == "failed") {
    WriteTime("completedAt", step.completed_at, cbor);
  }
  if (status == "pending") WriteTime("retryAfter", step.due_at, cbor);
  WriteTime("createdAt", first.persisted_at, cbor);
  WriteTime("updatedAt", events.back().persisted_at, cbor);
  cbor.End();
  return std::nullopt;
}

WorldOutcome WorldReader::WriteHook(const StoredRun& run, const std::string& hook_id,
                                    const EntityState& hook, Detail resolve, CborWriter& cbor) {
  const auto events = ReadEvents(
      run, {.after = EventSeq(hook.first_seq.value() - 1), .until = hook.first_seq, .limit = 1});
  if (!events) return Failed(events.error());
  if (events->empty()) return WorldError::NoHook(hook_id);
  const Event& first = events->front();
  const std::string_view created = first.payload.empty() ? "{}" : std::string_view(first.payload);
  cbor.BeginMap();
  cbor.Member("runId", run.run_id.value());
  cbor.Member("hookId", hook_id);
  cbor.Member("token", hook.token);
  cbor.Member("ownerId", tenant_id_);
  cbor.Member("projectId", run.state.scope.project_id);
  cbor.Member("environment", run.state.scope.environment_id);
  WriteSpec(first, cbor);
  if (resolve == Detail::kFull) WriteMember(created, "metadata", "metadata", cbor);
  const auto webhook = RawMember(created, "isWebhook");
  cbor.Member("isWebhook", webhook && *webhook == "true");
  WriteMember(created, "isSystem", "isSystem", cbor);
  WriteMember(created, "tokenRetentionUntil", "tokenRetentionUntil", cbor);
  WriteTime("createdAt", first.persisted_at, cbor);
  cbor.End();
  return std::nullopt;
}

WorldOutcome WorldReader::WriteWait(const StoredRun& run, const std::string& wait_id,
                                    const EntityState& wait, CborWriter& cbor) {
  const auto first = ReadEvents(run, At(wait.first_seq));
  if (!first) return Failed(first.error());
  const auto last = ReadEvents(run, At(wait.last_seq));
  if (!last) return Failed(last.error());
  if (first->empty() || last->empty()) {
    return WorldError::NotFound("Wait \"" + wait_id + "\" not found");
  }
  const bool done = wait.status == EntityStatus::kElapsed;
  cbor.BeginMap();
  cbor.Member("waitId", run.run_id.value() + "-" + wait_id);
  cbor.Member("runId", run.run_id.value());
  cbor.Member("status", done ? "completed" : "waiting");
  WriteSpec(first->front(), cbor);
  WriteTime("resumeAt", wait.due_at, cbor);
  if (done) WriteTime("completedAt", wait.completed_at, cbor);
  WriteTime("createdAt", first->front().persisted_at, cbor);
  WriteTime("updatedAt", last->front().persisted_at, cbor);
  cbor.End();
  return std::nullopt;
}

bool WorldReader::WriteEvent(const StoredRun& run, const Event& event, Detail resolve,
                             CborWriter& cbor) {
  // A step is created once: what only opens a further attempt has no name here (WorldOrder).
  const bool has_name = event.type != EventType::kStepScheduled || event.logical_attempt <= 1;
  const auto shown =
      has_name ? RenderPayload(Dialect::kDevkit,
                               {run.run_id, run.state.scope, run.state.key_version}, event)
               : std::nullopt;
  if (!shown && spec_ < kSpecWithNoop) return false;
  const std::string_view name = shown ? shown->name : "noop";
  cbor.BeginMap();
  cbor.Member("runId", run.run_id.value());
  cbor.Member("eventId", EventIdOf(event.seq));
  cbor.Member("eventType", name);
  const bool named =
      name != "noop" && !(name == "attr_set" && event.entity_id == kUnnamedAttributes);
  if (named && !event.entity_id.empty()) cbor.Member("correlationId", event.entity_id);
  WriteSpec(event, cbor);
  WriteAttribute(event, "resumeId", cbor);
  cbor.Member("createdAt", event.persisted_at);
  if (event.emitted_at != event.persisted_at) cbor.Member("occurredAt", event.emitted_at);
  const std::string_view data = shown ? std::string_view(shown->payload) : std::string_view();
  const std::string_view opaque = PayloadMemberOf(name);
  const auto hidden =
      resolve == Detail::kOutline && !opaque.empty() ? RawMember(data, opaque) : std::nullopt;
  if (!data.empty() && data != "{}") WriteData(data, hidden ? opaque : std::string_view(), cbor);
  cbor.End();
  return true;
}

}  // namespace everstep
