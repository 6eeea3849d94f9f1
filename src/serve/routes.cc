#include "serve/router.h"

namespace everstep {
namespace {

constexpr std::size_t kNoBody = 0;
constexpr std::size_t kSmallBody = 64 << 10;   // a few words
constexpr std::size_t kPayloadBody = 1 << 20;  // payloads of hooks and signals
constexpr std::size_t kChunkBody = 4 << 20;    // one chunk of a stream
constexpr std::size_t kPlanBody = 8 << 20;     // a plan and its inputs
constexpr std::size_t kBatchBody = 32 << 20;   // many events or reports

using enum Permission;
constexpr std::nullopt_t kOpen = std::nullopt;

constexpr Route kRoutes[] = {
    {"GET", "/livez", "getLiveness", kOpen, kNoBody},
    {"GET", "/readyz", "getReadiness", kOpen, kNoBody},
    {"GET", "/openapi.json", "getOpenApi", kOpen, kNoBody},
    {"GET", "/docs/errors/{code}", "getErrorPage", kOpen, kNoBody},
    // Authenticated by a signature instead of a token.
    {"POST", "/webhooks/{tenantId}/{token}", "receiveWebhook", kOpen, kPayloadBody},
    {"POST", "/webhooks/{tenantId}", "receiveSignedEvents", kOpen, kPayloadBody},
    {"GET", "/metrics", "getMetrics", kMetricsRead, kNoBody},

    {"POST", "/v1/runs", "startRun", kRunStart, kPlanBody},
    {"GET", "/v1/runs", "listRuns", kRunRead, kNoBody},
    {"GET", "/v1/counts", "countRuns", kRunRead, kNoBody},
    {"GET", "/v1/runs/{runId}", "getRun", kRunRead, kNoBody},
    {"POST", "/v1/runs/{runId}/cancel", "cancelRun", kRunCancel, kSmallBody},
    {"POST", "/v1/runs/{runId}/approve", "approveRun", kRunApprove, kSmallBody},
    {"GET", "/v1/runs/{runId}/snapshot", "getSnapshot", kRunRead, kNoBody},
    {"GET", "/v1/runs/{runId}/steps", "listSteps", kRunRead, kNoBody},
    {"GET", "/v1/runs/{runId}/steps/{stepId}", "getStep", kRunRead, kNoBody},
    {"GET", "/v1/runs/{runId}/why", "explainRun", kRunRead, kNoBody},
    {"GET", "/v1/runs/{runId}/events", "listRunEvents", kEventRead, kNoBody},
    {"POST", "/v1/runs/{runId}/signals", "sendSignal", kSignalSend, kPayloadBody},
    {"GET", "/v1/runs/{runId}/signals", "listSignals", kRunRead, kNoBody},

    {"GET", "/v1/runs/{runId}/streams", "listStreams", kRunRead, kNoBody},
    {"GET", "/v1/runs/{runId}/streams/{stream}", "readStream", kRunRead, kNoBody},
    {"POST", "/v1/runs/{runId}/streams/{stream}", "writeStream", kEventAppend, kChunkBody},

    {"GET", "/v1/events", "listEvents", kEventRead, kNoBody},
    {"POST", "/v1/events", "appendEvents", kEventAppend, kBatchBody},

    {"POST", "/v1/hooks/{token}", "deliverHook", kHookDeliver, kPayloadBody},
    {"POST", "/v1/hooks/{token}/fail", "failHook", kHookDeliver, kSmallBody},
    {"POST", "/v1/hooks/{token}/heartbeat", "heartbeatHook", kHookDeliver, kNoBody},
    {"GET", "/v1/hooks/{token}", "getHook", kHookRead, kNoBody},

    {"POST", "/v1/plans", "registerPlan", kPlanWrite, kPlanBody},
    {"GET", "/v1/plans", "listPlans", kPlanRead, kNoBody},
    {"POST", "/v1/plans/check", "checkPlan", kPlanRead, kPlanBody},
    {"GET", "/v1/plans/{planId}", "getPlan", kPlanRead, kNoBody},
    {"GET", "/v1/plans/{planId}/versions/{version}", "getPlanVersion", kPlanRead, kNoBody},
    {"GET", "/v1/plans/{planId}/versions/{version}/graph", "getPlanGraph", kPlanRead, kNoBody},

    {"GET", "/v1/queues", "listQueues", kQueueRead, kNoBody},
    {"PUT", "/v1/queues/{queue}", "setQueue", kQueueWrite, kSmallBody},

    {"GET", "/v1/sinks", "listSinks", kSinkRead, kNoBody},
    {"GET", "/v1/sinks/{sinkId}", "getSink", kSinkRead, kNoBody},
    {"PUT", "/v1/sinks/{sinkId}", "putSink", kSinkWrite, kSmallBody},
    {"DELETE", "/v1/sinks/{sinkId}", "removeSink", kSinkWrite, kNoBody},
    {"POST", "/v1/sinks/{sinkId}/pause", "pauseSink", kSinkOperate, kNoBody},
    {"POST", "/v1/sinks/{sinkId}/resume", "resumeSink", kSinkOperate, kNoBody},
    {"GET", "/v1/sinks/{sinkId}/outbox", "listPending", kSinkRead, kNoBody},
    {"GET", "/v1/sinks/{sinkId}/dead-letters", "listDeadLetters", kSinkRead, kNoBody},
    {"POST", "/v1/sinks/{sinkId}/dead-letters/replay", "replayDeadLetters", kSinkOperate,
     kSmallBody},
    {"POST", "/v1/sinks/{sinkId}/dead-letters/purge", "purgeDeadLetters", kSinkOperate, kSmallBody},
    {"GET", "/v1/sinks/{sinkId}/dead-letters/{letterId}", "getDeadLetter", kSinkRead, kNoBody},

    {"POST", "/v1/inbound", "receiveEvents", kHookDeliver, kPayloadBody},
    {"GET", "/v1/inbound/rules", "listInboundRules", kSinkRead, kNoBody},
    {"PUT", "/v1/inbound/rules/{ruleId}", "putInboundRule", kSinkWrite, kSmallBody},
    {"DELETE", "/v1/inbound/rules/{ruleId}", "removeInboundRule", kSinkWrite, kNoBody},

    {"POST", "/v1/artifacts", "putArtifact", kArtifactWrite, kStreamedBody},
    {"GET", "/v1/artifacts/{sha256}", "getArtifact", kArtifactRead, kNoBody},

    {"GET", "/v1/alerts", "listAlerts", kAlertRead, kNoBody},
    {"GET", "/v1/audit", "listAudit", kAuditRead, kNoBody},

    {"GET", "/v1/tokens", "listTokens", kTokenManage, kNoBody},
    {"POST", "/v1/tokens", "createToken", kTokenManage, kSmallBody},
    {"DELETE", "/v1/tokens/{tokenId}", "revokeToken", kTokenManage, kNoBody},
    {"POST", "/v1/tokens/{tokenId}/rotate", "rotateToken", kTokenManage, kSmallBody},

    {"GET", "/v1/messages", "listMessages", kQueueRead, kNoBody},
    {"POST", "/v1/messages/{messageId}/replay", "replayMessage", kQueueWrite, kSmallBody},
    {"DELETE", "/v1/messages/{messageId}", "removeMessage", kQueueWrite, kNoBody},

    // Calls that change something also require event.append.
    {"POST", "/v1/devkit", "callWorld", kRunRead, kBatchBody},

    {"GET", "/v1/workers", "listWorkers", kRunRead, kNoBody},
    {"POST", "/v1/workers", "registerWorker", kWorkDo, kSmallBody},
    {"POST", "/v1/workers/{workerId}/poll", "pollWork", kWorkDo, kBatchBody},
    {"POST", "/v1/workers/{workerId}/drain", "drainWorker", kWorkDo, kSmallBody},
    {"DELETE", "/v1/workers/{workerId}", "removeWorker", kWorkDo, kNoBody},
};

}  // namespace

std::span<const Route> Routes() { return kRoutes; }

}  // namespace everstep
