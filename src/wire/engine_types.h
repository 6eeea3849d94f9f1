#pragma once

#include <optional>
#include <string>
#include <vector>

#include "everstep/engine.h"
#include "everstep/log.h"
#include "wire/wire.h"

namespace everstep {

// JSON mappings of the engine's types for the API. The tenant and actor of a request come from its
// credential, so they are not part of any body.

template <typename F>
void Describe(F& f, PlanRef& ref) {
  f.Required("uri", ref.uri);
  f.Required("sha256", ref.sha256);
  f("schemaVersion", ref.schema_version);
  f("planId", ref.plan_id);
  f("planVersion", ref.plan_version);
}

// POST /v1/runs: a plan document, a reference, or the name of a registered plan.
struct StartBody {
  StartBody() { start.trigger_source = "api"; }

  StartRequest start;
  std::string plan_id;
  std::string plan_version;
};
template <typename F>
void Describe(F& f, StartBody& body) {
  StartRequest& start = body.start;
  f("plan", start.plan);
  f("planRef", start.plan_ref);
  f("planId", body.plan_id);
  f("planVersion", body.plan_version);
  f.Json("inputs", start.inputs);
  f("runId", start.run_id);
  f("requestId", start.request_id);
  f("projectId", start.project_id);
  f("environmentId", start.environment_id);
  f("triggerSource", start.trigger_source);
  f("priority", start.priority);
  f("startAt", start.start_at);
}

template <typename F>
void Describe(F& f, StartedRun& run) {
  f.Required("runId", run.run_id);
  f.Required("status", run.status);
  f("existing", run.existing);
  f("queuePosition", run.queue_position);
  f("startAt", run.start_at);
}

template <typename F>
void Describe(F& f, SignalRequest& signal) {
  f("signalId", signal.signal_id);
  f.Required("type", signal.type);
  f.Json("payload", signal.payload);
  f("reason", signal.reason);
  f("approvedBy", signal.approved_by);
}

template <typename F>
void Describe(F& f, SignalDecision& decision) {
  f.Required("signalId", decision.signal_id);
  f.Required("decision", decision.decision);
  f("code", decision.code);
  f("reason", decision.reason);
  f("repeated", decision.repeated);
  f("newRunId", decision.new_run_id);
  f("runSeq", decision.run_seq);
}

// POST /v1/runs/{runId}/cancel, …/approve
struct ReasonBody {
  std::string reason;
};
template <typename F>
void Describe(F& f, ReasonBody& body) {
  f("reason", body.reason);
}

// POST /v1/hooks/{token}/fail
struct HookFailureBody {
  std::string code;
  std::string message;
  std::optional<bool> retryable;  // unset: true
};
template <typename F>
void Describe(F& f, HookFailureBody& body) {
  f.Required("code", body.code);
  f("message", body.message);
  f("retryable", body.retryable);
}

template <typename F>
void Describe(F& f, Blocker& blocker) {
  f("kind", blocker.kind);
  f("subject", blocker.subject);
  f("message", blocker.message);
  f("causeSeq", blocker.cause_seq);
  f("wakesAt", blocker.wakes_at);
  f("remedy", blocker.remedy);
}

template <typename F>
void Describe(F& f, Explanation& why) {
  f.Required("runId", why.run_id);
  f.Required("status", why.status);
  f("substatus", why.substatus);
  f("summary", why.summary);
  f.Required("blockers", why.blockers);
}

template <typename F>
void Describe(F& f, StepView& step) {
  f.Required("stepId", step.step_id);
  f("name", step.name);
  f("kind", step.kind);
  f.Required("status", step.status);
  f("logicalAttempt", step.logical_attempt);
  f("attemptsMax", step.attempts_max);
  f("engineAttempt", step.engine_attempt);
  f("startedAt", step.started_at);
  f("completedAt", step.completed_at);
  f("wakesAt", step.wakes_at);
  f("errorCode", step.error_code);
  f("errorMessage", step.error_message);
  f("skipCode", step.skip_code);
  f("hookToken", step.hook_token);
  f("itemsTotal", step.items_total);
  f("itemsDone", step.items_done);
  f("itemsFailed", step.items_failed);
  f("itemsRunning", step.items_running);
  f("childRunId", step.child_run_id);
  f.Required("dependsOn", step.depends_on);
}

template <typename F>
void Describe(F& f, RunView& view) {
  f.Required("runId", view.run_id);
  f("planId", view.plan_id);
  f("planVersion", view.plan_version);
  f.Required("status", view.status);
  f("substatus", view.substatus);
  f("lastEventSeq", view.last_event_seq);
  f("queuePosition", view.queue_position);
  f("startedAt", view.started_at);
  f("completedAt", view.completed_at);
  f.Json("inputs", view.inputs);
  f.Json("result", view.result);
  f("errorCode", view.error_code);
  f("errorMessage", view.error_message);
  f.Required("steps", view.steps);
}

template <typename F>
void Describe(F& f, RunSummary& run) {
  f.Required("runId", run.run_id);
  f.Required("status", run.status);
  f("substatus", run.substatus);
  f("projectId", run.project_id);
  f("environmentId", run.environment_id);
  f("planId", run.plan_id);
  f("planVersion", run.plan_version);
  f("errorCode", run.error_code);
  f("lastEventSeq", run.last_event_seq);
  f("createdAt", run.created_at);
  f("updatedAt", run.updated_at);
  f("quarantine", run.quarantine);
}

template <typename F>
void Describe(F& f, RunList& list) {
  f.Required("runs", list.runs);
  f("cursor", list.cursor);
}

template <typename F>
void Describe(F& f, StepSnapshot::Failure& failure) {
  f.Required("code", failure.code);
  f.Required("message", failure.message);
  f("retryable", failure.retryable);
}

template <typename F>
void Describe(F& f, StepSnapshot& step) {
  f.Required("stepId", step.step_id);
  f.Required("status", step.status);
  f("logicalAttemptId", step.logical_attempt);
  f("engineAttemptId", step.engine_attempt);
  f("startedAt", step.started_at);
  f("completedAt", step.completed_at);
  f.Json("artifacts", step.artifacts);
  f("error", step.error);
}

template <typename F>
void Describe(F& f, RunSnapshot::Counters& counters) {
  f("steps", counters.steps);
  f("running", counters.running);
  f("succeeded", counters.succeeded);
  f("failed", counters.failed);
  f("skipped", counters.skipped);
  f("hooksActive", counters.hooks_active);
  f("waitsOpen", counters.waits_open);
  f("errorsOpen", counters.errors_open);
}

// For reading only. ToJson(RunSnapshot) writes snapshots, with the contract's members.
template <typename F>
void Describe(F& f, RunSnapshot& snapshot) {
  f.Required("runId", snapshot.run_id);
  f("tenantId", snapshot.tenant_id);
  f("projectId", snapshot.project_id);
  f("environmentId", snapshot.environment_id);
  f("planId", snapshot.plan_id);
  f("planVersion", snapshot.plan_version);
  f.Required("status", snapshot.status);
  f("substatus", snapshot.substatus);
  f("message", snapshot.message);
  f("lastEventSeq", snapshot.last_event_seq);
  f("steps", snapshot.steps);
  f.Json("artifacts", snapshot.artifacts);
  f("startedAt", snapshot.started_at);
  f("completedAt", snapshot.completed_at);
  f("totalDurationMs", snapshot.total_duration_ms);
  f("engineRunRef", snapshot.engine_run_ref);
  f("error", snapshot.error);
  f("counters", snapshot.counters);
  f("inconsistent", snapshot.inconsistent);
}

template <typename F>
void Describe(F& f, Appended& appended) {
  f.Required("runId", appended.run_id);
  f.Required("eventId", appended.event_id);
  f.Required("runSeq", appended.run_seq);
  f.Required("persistedAt", appended.persisted_at);
  f("idempotent", appended.idempotent);
  f("payloadMismatch", appended.payload_mismatch);
}

template <typename F>
void Describe(F& f, LogEvent& event) {
  f("runSeq", event.run_seq);
  f("type", event.type);
  f.Json("event", event.json);
}

template <typename F>
void Describe(F& f, EventPage& page) {
  f.Required("events", page.events);
  f("nextAfter", page.next_after);
  f("more", page.more);
}

template <typename F>
void Describe(F& f, Alert& alert) {
  f.Required("code", alert.code);
  f("severity", alert.severity);
  f("runId", alert.run_id);
  f("tenantId", alert.tenant_id);
  f("detail", alert.detail);
}

}  // namespace everstep
