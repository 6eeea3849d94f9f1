#pragma once

#include <string>
#include <vector>

#include "wire/api_types.h"

namespace everstep {

// The worker protocol, used by both the server and the client.

struct WorkerBody {
  std::string name;
  std::vector<std::string> kinds;
  std::vector<std::string> queues;
  std::uint32_t slots = 1;
};
template <typename F>
void Describe(F& f, WorkerBody& worker) {
  f("name", worker.name);
  f.Required("kinds", worker.kinds);
  f("queues", worker.queues);
  f("slots", worker.slots);
}

struct WorkerAnswer {
  std::string worker_id;
  std::chrono::milliseconds lease{0};
};
template <typename F>
void Describe(F& f, WorkerAnswer& answer) {
  f.Required("workerId", answer.worker_id);
  f("leaseMs", answer.lease);
}

// The outcome of a task.
struct ReportBody {
  std::string token;
  std::string result;     // JSON, if the task succeeded
  std::string artifacts;  // JSON list of ArtifactRef
  struct Failure {
    std::string code;
    std::string message;
    bool retryable = false;
    std::string category;
    std::string details;  // JSON
    std::optional<std::chrono::milliseconds> retry_after;
  };
  std::optional<Failure> error;  // unset: the task succeeded
};
template <typename F>
void Describe(F& f, ReportBody::Failure& failure) {
  f.Required("code", failure.code);
  f("message", failure.message);
  f("retryable", failure.retryable);
  f("category", failure.category);
  f.Json("details", failure.details);
  f("retryAfterMs", failure.retry_after);
}
template <typename F>
void Describe(F& f, ReportBody& report) {
  f.Required("token", report.token);
  f.Json("result", report.result);
  f.Json("artifacts", report.artifacts);
  f("error", report.error);
}

struct PollBody {
  std::vector<ReportBody> reports;
  std::vector<std::string> heartbeats;
  std::uint32_t max = 0;
  std::chrono::milliseconds wait{0};
};
template <typename F>
void Describe(F& f, PollBody& poll) {
  f("reports", poll.reports);
  f("heartbeats", poll.heartbeats);
  f("max", poll.max);
  f("waitMs", poll.wait);
}

struct TaskBody {
  std::string token;
  std::string run_id;
  std::string step_id;
  std::string kind;
  std::string queue;
  std::uint32_t logical_attempt = 0;
  std::uint32_t engine_attempt = 0;
  std::string idempotency_key;
  std::string inputs;  // JSON object, with secrets filled in
  std::chrono::milliseconds timeout{0};
  std::string traceparent;
  std::string tracestate;
  std::string project_id;
  std::string environment_id;
};
template <typename F>
void Describe(F& f, TaskBody& task) {
  f.Required("token", task.token);
  f.Required("runId", task.run_id);
  f.Required("stepId", task.step_id);
  f.Required("kind", task.kind);
  f("queue", task.queue);
  f("logicalAttempt", task.logical_attempt);
  f("engineAttempt", task.engine_attempt);
  f("idempotencyKey", task.idempotency_key);
  f.Json("inputs", task.inputs);
  f("timeoutMs", task.timeout);
  f("traceparent", task.traceparent);
  f("tracestate", task.tracestate);
  f("projectId", task.project_id);
  f("environmentId", task.environment_id);
}

struct RefusedReport {
  std::string token;
  std::string code;
  std::string detail;
};
template <typename F>
void Describe(F& f, RefusedReport& refused) {
  f.Required("token", refused.token);
  f.Required("code", refused.code);
  f("detail", refused.detail);
}

struct PollReply {
  std::vector<TaskBody> tasks;
  std::vector<RefusedReport> refused;
  std::vector<std::string> stop;
  std::chrono::milliseconds lease{0};
};
template <typename F>
void Describe(F& f, PollReply& reply) {
  f.Required("tasks", reply.tasks);
  f("refused", reply.refused);
  f("stop", reply.stop);
  f("leaseMs", reply.lease);
}

}  // namespace everstep
