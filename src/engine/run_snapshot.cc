#include "engine/run_snapshot.h"

#include "base/assert.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/timestamp.h"

namespace everstep {
namespace {

std::optional<SystemTime> IfSet(Timestamp time) {
  if (time == Timestamp{}) return std::nullopt;
  return time;
}

void TimeMember(JsonWriter& json, std::string_view key, const std::optional<SystemTime>& time) {
  if (time) json.Member(key, FormatTimestamp(*time));
}

void FailureMember(JsonWriter& json, const std::optional<StepSnapshot::Failure>& error) {
  if (!error) return;
  json.Key("error");
  json.BeginObject();
  json.Member("code", error->code);
  json.Member("message", error->message);
  json.Member("retryable", error->retryable);
  json.EndObject();
}

void WriteStep(JsonWriter& json, const StepSnapshot& step) {
  json.BeginObject();
  json.Member("stepId", step.step_id);
  json.Member("status", step.status);
  json.Member("logicalAttemptId", std::uint64_t{step.logical_attempt});
  json.Member("engineAttemptId", std::uint64_t{step.engine_attempt});
  TimeMember(json, "startedAt", step.started_at);
  TimeMember(json, "completedAt", step.completed_at);
  json.RawMember("artifacts", step.artifacts);
  FailureMember(json, step.error);
  json.EndObject();
}

void WriteCounters(JsonWriter& json, const RunSnapshot::Counters& counters) {
  json.Key("counters");
  json.BeginObject();
  json.Member("steps", counters.steps);
  json.Member("running", counters.running);
  json.Member("succeeded", counters.succeeded);
  json.Member("failed", counters.failed);
  json.Member("skipped", counters.skipped);
  json.Member("hooksActive", counters.hooks_active);
  json.Member("waitsOpen", counters.waits_open);
  json.Member("errorsOpen", counters.errors_open);
  json.EndObject();
}

// Appends the elements of a JSON array to those of another.
void Concatenate(std::string& all, std::string_view array) {
  const auto begin = array.find_first_not_of(" \t\r\n", array.find('[') + 1);
  const auto end = array.rfind(']');
  if (array.empty() || begin >= end) return;
  EVERSTEP_ASSERT(all.ends_with(']'));
  all.pop_back();
  if (all.size() > 1) all.push_back(',');
  all.append(array.substr(begin, end - begin)).push_back(']');
}

std::string HashOf(const RunSnapshot& snapshot, bool semantic) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("runId", snapshot.run_id);
  json.Member("status", snapshot.status);
  json.Member("paused", snapshot.status == "PAUSED");
  if (!semantic) {
    TimeMember(json, "startedAt", snapshot.started_at);
    TimeMember(json, "completedAt", snapshot.completed_at);
  }
  json.Key("steps");
  json.BeginObject();
  for (const StepSnapshot& step : snapshot.steps) {
    json.Key(step.step_id);
    json.BeginObject();
    json.Member("status", step.status == "SUCCESS" ? std::string_view("COMPLETED") : step.status);
    if (!semantic) {
      json.Member("attempts", std::uint64_t{step.attempts});
      TimeMember(json, "startedAt", step.started_at);
      TimeMember(json, "completedAt", step.completed_at);
    }
    json.EndObject();
  }
  json.EndObject();
  json.EndObject();
  const auto canonical = CanonicalJson(text);
  EVERSTEP_ASSERT(canonical.has_value());
  return ToHex(Sha256(*canonical));
}

}  // namespace

std::string_view SubstatusOf(const RunState& state) {
  const bool draining = state.status == RunStatus::kPaused && state.steps_running > 0;
  return draining ? "DRAINING" : "";
}

SnapshotBuilder::SnapshotBuilder(const RunId& run_id, const RunState& state) {
  snapshot_.run_id = run_id.value();
  snapshot_.tenant_id = state.scope.tenant_id;
  snapshot_.project_id = state.scope.project_id;
  snapshot_.environment_id = state.scope.environment_id;
  snapshot_.plan_id = state.scope.plan_id;
  snapshot_.plan_version = state.scope.plan_version;
  snapshot_.status = Name(state.status);
  snapshot_.substatus = SubstatusOf(state);
  if (!snapshot_.substatus.empty()) {
    snapshot_.message = "Workflow paused. Waiting for " + std::to_string(state.steps_running) +
                        (state.steps_running == 1 ? " in-flight task" : " in-flight tasks") +
                        " to complete.";
  }
  snapshot_.last_event_seq = state.last_seq.value();
  Concatenate(snapshot_.artifacts, state.artifacts);
  snapshot_.started_at = IfSet(state.started_at);
  snapshot_.completed_at = IfSet(state.completed_at);
  if (snapshot_.started_at && snapshot_.completed_at) {
    snapshot_.total_duration_ms = std::chrono::floor<std::chrono::milliseconds>(
                                      *snapshot_.completed_at - *snapshot_.started_at)
                                      .count();
  }
  snapshot_.engine_run_ref = state.engine_run_ref;
  if (state.status == RunStatus::kFailed) {
    snapshot_.error = StepSnapshot::Failure{state.error_code, state.error_message, false};
  }
  snapshot_.counters = {state.steps_total,  state.steps_running, state.steps_succeeded,
                        state.steps_failed, state.steps_skipped, state.hooks_active,
                        state.waits_open,   state.errors_open};
  snapshot_.inconsistent = state.inconsistent;
}

void SnapshotBuilder::AddStep(const std::string& step_id, const EntityState& step) {
  StepSnapshot& out = snapshot_.steps.emplace_back();
  out.step_id = step_id;
  out.status = Name(step.status);
  out.logical_attempt = step.logical_attempt;
  out.engine_attempt = step.engine_attempt;
  out.attempts = step.starts;
  out.started_at = IfSet(step.started_at);
  out.completed_at = IfSet(step.completed_at);
  if (!step.artifacts.empty()) out.artifacts = step.artifacts;
  if (step.status == EntityStatus::kFailed) {
    out.error = StepSnapshot::Failure{step.error_code, step.error_message, step.retryable};
  }
  Concatenate(snapshot_.artifacts, step.artifacts);
}

RunSnapshot SnapshotBuilder::Build() { return std::move(snapshot_); }

std::string ToJson(const RunSnapshot& snapshot) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("runId", snapshot.run_id);
  json.Member("status", snapshot.status);
  if (!snapshot.substatus.empty()) json.Member("substatus", snapshot.substatus);
  if (!snapshot.message.empty()) json.Member("message", snapshot.message);
  json.Member("lastEventSeq", snapshot.last_event_seq);
  json.Member("tenantId", snapshot.tenant_id);
  json.Member("projectId", snapshot.project_id);
  json.Member("environmentId", snapshot.environment_id);
  json.Member("planId", snapshot.plan_id);
  json.Member("planVersion", snapshot.plan_version);
  if (!snapshot.engine_run_ref.empty()) json.Member("engineRunRef", snapshot.engine_run_ref);
  TimeMember(json, "startedAt", snapshot.started_at);
  TimeMember(json, "completedAt", snapshot.completed_at);
  if (snapshot.total_duration_ms) {
    json.Key("totalDurationMs");
    json.Int(*snapshot.total_duration_ms);
  }
  FailureMember(json, snapshot.error);
  json.Key("steps");
  json.BeginArray();
  for (const StepSnapshot& step : snapshot.steps) WriteStep(json, step);
  json.EndArray();
  json.RawMember("artifacts", snapshot.artifacts);
  WriteCounters(json, snapshot.counters);
  if (snapshot.inconsistent) json.Member("inconsistent", true);
  json.EndObject();
  return text;
}

std::string SnapshotHash(const RunSnapshot& snapshot) { return HashOf(snapshot, false); }

std::string SemanticHash(const RunSnapshot& snapshot) { return HashOf(snapshot, true); }

}  // namespace everstep
