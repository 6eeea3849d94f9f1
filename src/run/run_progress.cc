#include "run/run_progress.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "event/catalogue.h"
#include "run/merged_members.h"
#include "run/payload_member.h"

namespace everstep {
namespace {

constexpr std::string_view kRunTimeout = "run-timeout";
// Sources of an error that ends the run.
constexpr std::string_view kOutputs = "outputs";
constexpr std::string_view kProgram = "program";

}  // namespace

Sha256Digest SignalBody(std::string_view type, const Value& payload) {
  const std::string json = payload.undefined() ? "{}" : ToJson(payload);
  const auto canonical = CanonicalJson(json);
  return Sha256(std::string(type) + "|" + (canonical ? *canonical : json));
}

ProgramRef ProgramOf(const Event& event) {
  ProgramRef program;
  program.sha256 = TextMemberOf(event.payload, "planSha256");
  if (!program.sha256.empty()) {
    program.format = kPlanFormat;
    return program;
  }
  const Value stored = ValueMemberOf(event.payload, "program");
  const Value format = stored.Get("format");
  const Value sha256 = stored.Get("sha256");
  if (format.kind() == Value::Kind::kText) program.format = format.text();
  if (sha256.kind() == Value::Kind::kText) program.sha256 = sha256.text();
  return program;
}

void WriteProgram(JsonWriter& json, const ProgramRef& program) {
  if (program.format.empty() || program.format == kPlanFormat) {
    json.Member("planSha256", program.sha256);
    return;
  }
  json.Key("program");
  json.BeginObject();
  json.Member("format", program.format);
  json.Member("sha256", program.sha256);
  json.EndObject();
}

RunProgress::Order RunProgress::Apply(const Event& event) {
  last_seq = event.seq;
  switch (SpecOf(event.type).entity) {
    case EntityKind::kRun:
      ApplyRunEvent(event);
      return {};
    case EntityKind::kSignal:
      return ApplySignal(event);
    case EntityKind::kError:
      ApplyError(event);
      return {};
    case EntityKind::kWait:
      if (event.type == EventType::kWaitCompleted && event.entity_id == kRunTimeout &&
          !is_ending() && !IsTerminal(status)) {
        BeginEnding(Ending::kFailing, event.seq, "RUN_TIMEOUT",
                    "the run took longer than its timeout");
      }
      return {};
    case EntityKind::kContext:
      if (event.entity_id == "inputs") {
        inputs = MergedMembers(inputs, ValueMemberOf(event.payload, "changes"));
      }
      return {};
    default:
      return {};
  }
}

void RunProgress::ApplyRunEvent(const Event& event) {
  status_seq = event.seq;
  switch (event.type) {
    case EventType::kRunQueued:
      status = RunStatus::kPending;
      return ApplyQueued(event);
    case EventType::kRunApproved:
      status = RunStatus::kApproved;
      origin.queued_at =
          ParseTimestamp(TextMemberOf(event.payload, "queuedAt")).value_or(Timestamp{});
      return;
    case EventType::kRunStarted:
      status = RunStatus::kRunning;
      started_at = event.emitted_at;
      started_seq = event.seq;
      return;
    case EventType::kRunPaused:
      status = RunStatus::kPaused;
      paused_at = event.emitted_at;
      pause_reason = TextMemberOf(event.payload, "reason");
      return;
    case EventType::kRunResumed:
      status = RunStatus::kRunning;
      return;
    case EventType::kRunCompleted:
      status = RunStatus::kCompleted;
      result = RawMemberOf(event.payload, "result");
      break;
    case EventType::kRunFailed:
      status = RunStatus::kFailed;
      error_code = event.facts.error_code;
      error_message = event.facts.error_message;
      break;
    case EventType::kRunCancelled:
      status = RunStatus::kCancelled;
      error_message = TextMemberOf(event.payload, "reason");
      break;
    default:
      break;
  }
  completed_at = event.emitted_at;
}

void RunProgress::ApplyQueued(const Event& event) {
  created_at = event.emitted_at;
  program = ProgramOf(event);
  inputs = Value::Map(ValueMap{});
  const std::string& payload = event.payload;
  origin.inputs = RawMemberOf(payload, "input");
  const Value given = ValueMemberOf(payload, "input");
  if (given.kind() == Value::Kind::kMap) inputs = given;
  origin.request_id = TextMemberOf(payload, "runRequestId");
  origin.uri = TextMemberOf(payload, "planUri");
  origin.triggered_by = TextMemberOf(payload, "triggeredBy");
  origin.trigger_source = TextMemberOf(payload, "triggerSource");
  origin.traceparent = TextMemberOf(payload, "traceparent");
  origin.tracestate = TextMemberOf(payload, "tracestate");
  origin.concurrency_key = TextMemberOf(payload, "concurrencyKey");
  origin.parent = RunId(TextMemberOf(payload, "parentRunId"));
  origin.parent_step = TextMemberOf(payload, "parentStepId");
  origin.original = RunId(TextMemberOf(payload, "originalRunId"));
  origin.queued_at = ParseTimestamp(TextMemberOf(payload, "queuedAt")).value_or(Timestamp{});
  origin.start_at = ParseTimestamp(TextMemberOf(payload, "startAt")).value_or(Timestamp{});
  const Value priority = ValueMemberOf(payload, "priority");
  if (priority.kind() == Value::Kind::kInt) {
    origin.priority = static_cast<std::int32_t>(priority.int_value());
  }
  const Value plans = ValueMemberOf(payload, "children");
  if (plans.kind() != Value::Kind::kMap) return;
  for (const ValueMember& child : plans.members()) {
    if (child.second.kind() == Value::Kind::kText) {
      origin.children.emplace(child.first, child.second.text());
    }
  }
}

RunProgress::Order RunProgress::ApplySignal(const Event& event) {
  const std::string type = TextMemberOf(event.payload, "signalType");
  const Value payload = ValueMemberOf(event.payload, "signalPayload");
  Decided& decided = signals[event.entity_id];
  decided.body = SignalBody(type, payload);
  decided.accepted = event.type == EventType::kSignalAccepted;
  decided.seq = event.seq;
  decided.decision = TextMemberOf(event.payload, "decision");
  decided.reason = TextMemberOf(event.payload, "reason");
  const Value code = ValueMemberOf(event.payload, "engineResult").Get("errorCode");
  if (code.kind() == Value::Kind::kText) decided.code = code.text();
  if (!decided.accepted) return {};
  const Value step = payload.Get("stepId");
  const std::string activity_id = step.kind() == Value::Kind::kText ? step.text() : std::string();
  if (type == "CANCEL") {
    ending_signal = event.entity_id;
    const Value reason = payload.Get("reason");
    BeginEnding(Ending::kCancelling, event.seq, "CANCELLED",
                reason.kind() == Value::Kind::kText ? reason.text() : std::string());
  } else if (type == "INJECT_OVERRIDE") {
    overrides[activity_id] = payload.Get("override");
  } else if (type == "UPDATE_TARGET") {
    targets[activity_id] = payload.Get("newTarget");
  }
  if (type != "RETRY_STEP" && type != "INJECT_OVERRIDE") return {};
  return {type, activity_id};
}

// Errors are recorded for other reasons too; these end the run.
void RunProgress::ApplyError(const Event& event) {
  if (event.type != EventType::kErrorRecorded || IsTerminal(status)) return;
  const Value source = ValueMemberOf(event.payload, "details").Get("source");
  if (source.kind() != Value::Kind::kText) return;
  if (source.text() != kOutputs && source.text() != kProgram) return;
  BeginEnding(Ending::kFailing, event.seq, event.entity_id, TextMemberOf(event.payload, "message"));
}

Result<const RunProgress::Decided*> RunProgress::FindSignal(const std::string& signal_id,
                                                            std::string_view type,
                                                            const Value& payload) const {
  const auto known = signals.find(signal_id);
  if (known == signals.end()) return nullptr;
  if (known->second.body == SignalBody(type, payload)) return &known->second;
  return Error{ErrorCode::kSignalDuplicate,
               "signal " + signal_id + " was decided before with another content",
               {}};
}

void RunProgress::BeginEnding(Ending how, EventSeq seq, std::string code, std::string message) {
  EVERSTEP_ASSERT(how != Ending::kNone);
  if (ending == Ending::kNone) {
    ending = how;
    ending_code = std::move(code);
    ending_message = std::move(message);
  }
  ending_seq = seq;
}

}  // namespace everstep
