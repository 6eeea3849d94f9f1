#pragma once

#include <string_view>

#include "base/content_count.h"
#include "serve/api.h"

namespace everstep {

struct OperationEntry {
  std::string_view id;  // the route's operation id
  Operation run;
  RunsOn where;
  bool reads_query = false;               // if false, queries are refused under /v1
  ContentKind body = ContentKind::kJson;  // how the operation parses the body
};

// The operation of a route. server_access_test.cc checks that every route has one.
const OperationEntry* FindOperation(std::string_view id);

// operations_runs.cc
void StartRun(Api& api, CallPtr call);
void ListRuns(Api& api, CallPtr call);
void CountRuns(Api& api, CallPtr call);
void GetRun(Api& api, CallPtr call);
void CancelRun(Api& api, CallPtr call);
void ApproveRun(Api& api, CallPtr call);
void GetSnapshot(Api& api, CallPtr call);
void ListSteps(Api& api, CallPtr call);
void GetStep(Api& api, CallPtr call);
void ExplainRun(Api& api, CallPtr call);
void SendSignal(Api& api, CallPtr call);
void ListSignals(Api& api, CallPtr call);

// operations_events.cc
void ListRunEvents(Api& api, CallPtr call);
void ListEvents(Api& api, CallPtr call);
void AppendEvents(Api& api, CallPtr call);
void DeliverHook(Api& api, CallPtr call);
void FailHook(Api& api, CallPtr call);
void HeartbeatHook(Api& api, CallPtr call);
void GetHook(Api& api, CallPtr call);
void ReceiveWebhook(Api& api, CallPtr call);

// operations_plans.cc
void RegisterPlan(Api& api, CallPtr call);
void ListPlans(Api& api, CallPtr call);
void CheckPlan(Api& api, CallPtr call);
void GetPlan(Api& api, CallPtr call);
void GetPlanVersion(Api& api, CallPtr call);
void GetPlanGraph(Api& api, CallPtr call);
void PutArtifact(Api& api, CallPtr call);
void GetArtifact(Api& api, CallPtr call);

// operations_work.cc
void ListQueues(Api& api, CallPtr call);
void SetQueue(Api& api, CallPtr call);
void ListWorkers(Api& api, CallPtr call);
void RegisterWorker(Api& api, CallPtr call);
void PollWork(Api& api, CallPtr call);
void DrainWorker(Api& api, CallPtr call);
void RemoveWorker(Api& api, CallPtr call);

// operations_bus.cc
void ListSinks(Api& api, CallPtr call);
void GetSink(Api& api, CallPtr call);
void PutSink(Api& api, CallPtr call);
void RemoveSink(Api& api, CallPtr call);
void PauseSink(Api& api, CallPtr call);
void ResumeSink(Api& api, CallPtr call);
void ListPending(Api& api, CallPtr call);
void ListDeadLetters(Api& api, CallPtr call);
void GetDeadLetter(Api& api, CallPtr call);
void ReplayDeadLetters(Api& api, CallPtr call);
void PurgeDeadLetters(Api& api, CallPtr call);
void ReceiveEvents(Api& api, CallPtr call);
void ReceiveSignedEvents(Api& api, CallPtr call);
void ListInboundRules(Api& api, CallPtr call);
void PutInboundRule(Api& api, CallPtr call);
void RemoveInboundRule(Api& api, CallPtr call);

// operations_streams.cc
void ListStreams(Api& api, CallPtr call);
void ReadStream(Api& api, CallPtr call);
void WriteStream(Api& api, CallPtr call);
void ListMessages(Api& api, CallPtr call);
void ReplayMessage(Api& api, CallPtr call);
void RemoveMessage(Api& api, CallPtr call);

// operations_world.cc
void CallWorld(Api& api, CallPtr call);

// operations_admin.cc
Readiness::Answer LookAtServer(Api& api);  // may wait for the disk
void GetLiveness(Api& api, CallPtr call);
void GetReadiness(Api& api, CallPtr call);
void GetOpenApi(Api& api, CallPtr call);
void GetErrorPage(Api& api, CallPtr call);
void GetMetrics(Api& api, CallPtr call);
void ListAlerts(Api& api, CallPtr call);
void ListAudit(Api& api, CallPtr call);
void ListTokens(Api& api, CallPtr call);
void CreateToken(Api& api, CallPtr call);
void RevokeToken(Api& api, CallPtr call);
void RotateToken(Api& api, CallPtr call);

}  // namespace everstep
