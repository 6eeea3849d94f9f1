// Workers and the queues they serve.

#include <algorithm>
#include <utility>

#include "serve/operations.h"
#include "wire/work_types.h"

namespace everstep {

template <typename F>
void Describe(F& f, QueueView& queue) {
  f.Required("queue", queue.queue);
  f.Required("waiting", queue.waiting);
  f.Required("held", queue.held);
  f("oldestMs", queue.oldest);
  f.Required("workers", queue.workers);
  f("concurrency", queue.concurrency);
}

template <typename F>
void Describe(F& f, WorkerView& worker) {
  f.Required("workerId", worker.worker_id);
  f("name", worker.spec.name);
  f.Required("kinds", worker.spec.kinds);
  f("queues", worker.spec.queues);
  f.Required("slots", worker.spec.slots);
  f.Required("held", worker.held);
  f("draining", worker.draining);
  f("seenAt", worker.seen_at);
}

namespace {

struct QueueList {
  std::vector<QueueView> queues;
};
template <typename F>
void Describe(F& f, QueueList& list) {
  f.Required("queues", list.queues);
}
struct WorkerList {
  std::vector<WorkerView> workers;
};
template <typename F>
void Describe(F& f, WorkerList& list) {
  f.Required("workers", list.workers);
}
struct QueueBody {
  std::uint32_t concurrency = 0;
};
template <typename F>
void Describe(F& f, QueueBody& body) {
  f.Required("concurrency", body.concurrency);
}

TaskOutcome OutcomeOf(ReportBody& report) {
  if (!report.error) {
    TaskOutcome outcome = TaskOutcome::Success(std::move(report.result));
    outcome.artifacts = std::move(report.artifacts);
    return outcome;
  }
  ReportBody::Failure& failure = *report.error;
  TaskOutcome outcome =
      TaskOutcome::Failure(std::move(failure.code), std::move(failure.message), failure.retryable);
  if (!failure.category.empty()) outcome.category = std::move(failure.category);
  outcome.details = std::move(failure.details);
  outcome.artifacts = std::move(report.artifacts);
  if (failure.retry_after) outcome.retry_after = Milliseconds(failure.retry_after->count());
  return outcome;
}

TaskBody BodyOf(LentTask lent) {
  Task& task = lent.task;
  TaskBody body;
  body.token = std::move(lent.token);
  body.run_id = task.id.run_id.value();
  body.step_id = std::move(task.id.step_id);
  body.kind = std::move(task.kind);
  body.queue = std::move(task.queue);
  body.logical_attempt = task.id.logical_attempt;
  body.engine_attempt = task.id.engine_attempt;
  body.idempotency_key = std::move(task.idempotency_key);
  body.inputs = std::move(task.inputs);
  if (task.timeout) body.timeout = std::chrono::milliseconds(task.timeout->count());
  body.traceparent = std::move(task.traceparent);
  body.tracestate = std::move(task.tracestate);
  body.project_id = std::move(task.scope.project_id);
  body.environment_id = std::move(task.scope.environment_id);
  return body;
}

void AnswerPoll(ApiCall& call, Result<PollAnswer> answer) {
  if (!answer) return call.Fail(answer.error());
  PollReply reply;
  reply.tasks.reserve(answer->tasks.size());
  for (LentTask& task : answer->tasks) reply.tasks.push_back(BodyOf(std::move(task)));
  for (PollAnswer::Refused& refused : answer->refused) {
    reply.refused.push_back({std::move(refused.token), std::string(Name(refused.error.code)),
                             std::move(refused.error.message)});
  }
  reply.stop = std::move(answer->stop);
  reply.lease = answer->lease;
  call.Answer(reply);
}

// A worker may only report artifacts that its tenant uploaded: otherwise the step fails. An error
// of the store is not the worker's fault and is returned.
Status CheckArtifacts(Api& api, const ApiCall& call, ReportBody& report) {
  const Status theirs = api.artifact_owners().Check(call.tenant(), report.artifacts);
  if (theirs || KindOf(theirs.error().code) == ErrorKind::kStore) return theirs;
  report.artifacts.clear();
  report.result.clear();
  ReportBody::Failure failure;
  failure.code = "BAD_OUTPUT";
  failure.message = theirs.error().message;
  report.error = std::move(failure);
  return Ok();
}

void Poll(Api& api, CallPtr call, PollBody body) {
  PollRequest request;
  request.tenant_id = call->tenant();
  request.worker_id = call->Parameter("workerId");
  request.reports.reserve(body.reports.size());
  for (ReportBody& report : body.reports) {
    request.reports.push_back({report.token, OutcomeOf(report)});
  }
  request.heartbeats = std::move(body.heartbeats);
  request.tasks_max = body.max;
  request.wait = body.wait;
  request.elsewhere = [&api, party = call->party()](std::function<void()> work) {
    api.RunOnPool(party, std::move(work));
  };
  api.work().Poll(std::move(request),
                  [call](Result<PollAnswer> answer) { AnswerPoll(*call, std::move(answer)); });
}

}  // namespace

void ListQueues(Api& api, CallPtr call) {
  call->Answer(QueueList{api.work().Queues(call->tenant())});
}

void SetQueue(Api& api, CallPtr call) {
  const auto body = call->Read<QueueBody>();
  if (!body) return;
  const Status set =
      api.queue_limits().Set(call->tenant(), call->Parameter("queue"), body->concurrency);
  if (!set) return call->Fail(set.error());
  call->Answer(*body);
}

void ListWorkers(Api& api, CallPtr call) {
  call->Answer(WorkerList{api.work().Workers(call->tenant())});
}

void RegisterWorker(Api& api, CallPtr call) {
  auto body = call->Read<WorkerBody>();
  if (!body) return;
  const auto worker = api.work().Register({call->tenant(), std::move(body->name),
                                           std::move(body->kinds), std::move(body->queues),
                                           body->slots, call->May(Permission::kTenantAny)});
  if (!worker) return call->Fail(worker.error());
  call->Answer(WorkerAnswer{*worker, api.work().lease()}, 201);
}

void PollWork(Api& api, CallPtr call) {
  auto body = call->Read<PollBody>();
  if (!body) return;
  // While the server stops, refuse polls that carry no reports or heartbeats.
  if (api.draining() && body->reports.empty() && body->heartbeats.empty()) {
    return call->Fail(HttpCode::kNotReady, "the server is stopping");
  }
  const bool has_artifacts = std::ranges::any_of(
      body->reports, [](const ReportBody& report) { return !report.artifacts.empty(); });
  if (!has_artifacts) return Poll(api, std::move(call), *std::move(body));
  // The check of the artifacts' owners reads the store.
  const std::string party = call->party();
  api.RunOnPool(party, [&api, call = std::move(call), body = *std::move(body)]() mutable {
    for (ReportBody& report : body.reports) {
      const Status checked = CheckArtifacts(api, *call, report);
      if (!checked) return call->Fail(checked.error());
    }
    Poll(api, std::move(call), std::move(body));
  });
}

void DrainWorker(Api& api, CallPtr call) {
  const Status drained = api.work().Drain(call->tenant(), call->Parameter("workerId"));
  if (!drained) return call->Fail(drained.error());
  call->Json(200, "{}");
}

void RemoveWorker(Api& api, CallPtr call) {
  const Status removed = api.work().Remove(call->tenant(), call->Parameter("workerId"));
  if (!removed) return call->Fail(removed.error());
  call->Reply({204, {}, {}});
}

}  // namespace everstep
