#include "serve/settings.h"

namespace everstep {
namespace {

using enum SettingShape;

constexpr std::string_view kFormats[] = {"auto", "text", "json"};
constexpr std::string_view kLevels[] = {"error", "warn", "info"};
constexpr std::string_view kOverloads[] = {"queue", "delay", "reject"};
constexpr std::string_view kPrograms[] = {"shell", "python", "sqlite"};
constexpr std::string_view kSchemes[] = {"https", "file"};

// Where the value of a row goes.
template <auto kMember>
SettingTarget At(ServeSettings& settings) {
  return &(settings.*kMember);
}
template <auto kMember>
SettingTarget Http(ServeSettings& settings) {
  return &(settings.server.http.*kMember);
}
template <auto kMember>
SettingTarget Answers(ServeSettings& settings) {
  return &(settings.server.api.*kMember);
}
template <auto kMember>
SettingTarget Keys(ServeSettings& settings) {
  return &(settings.server.api.answers.*kMember);
}
template <auto kMember>
SettingTarget Server(ServeSettings& settings) {
  return &(settings.server.*kMember);
}
template <auto kMember>
SettingTarget Messages(ServeSettings& settings) {
  return &(settings.server.queue.*kMember);
}
template <auto kMember>
SettingTarget Workers(ServeSettings& settings) {
  return &(settings.server.work.*kMember);
}
template <auto kMember>
SettingTarget Runs(ServeSettings& settings) {
  return &(settings.server.engine.*kMember);
}
template <auto kMember>
SettingTarget Tools(ServeSettings& settings) {
  return &(settings.server.engine.tools.*kMember);
}
template <auto kMember>
SettingTarget Store(ServeSettings& settings) {
  return &(settings.server.engine.log.*kMember);
}
template <auto kMember>
SettingTarget Writes(ServeSettings& settings) {
  return &(settings.server.engine.write_budget.*kMember);
}
template <auto kMember>
SettingTarget Sinks(ServeSettings& settings) {
  return &(settings.server.bus.*kMember);
}
template <auto kMember>
SettingTarget Admission(ServeSettings& settings) {
  return &(settings.server.engine.admission.*kMember);
}
template <auto kLevel, auto kMember>
SettingTarget Limit(ServeSettings& settings) {
  return &(settings.server.engine.admission.*kLevel.*kMember);
}
constexpr Setting kTable[] = {
    {"listen", "listen", kList, "where to listen, as host:port; port 0: a free one",
     Http<&HttpServerOptions::listen>},
    {"dev", "dev", kSwitch, "without authentication, with all tools; on loopback only",
     At<&ServeSettings::dev>},
    {"ioThreads",
     "io-threads",
     kCount,
     "threads for connections",
     Http<&HttpServerOptions::io_threads>,
     {},
     1,
     256},
    {"drainTimeout", "drain-timeout", kDuration, "how long a stop waits for what is under way",
     At<&ServeSettings::drain_timeout>},
    {"tls.certificate", "tls-certificate", kFile,
     "PEM, with the chain; makes the server speak TLS 1.3",
     Http<&HttpServerOptions::certificate_file>},
    {"tls.key", "tls-key", kFile, "PEM; readable by the server alone",
     Http<&HttpServerOptions::key_file>},
    {"log.format", "log-format", kWord, "of standard error; auto: text on a terminal, else json",
     At<&ServeSettings::log_format>, kFormats},
    {"log.level", "log-level", kWord, "the least severe lines that are written",
     At<&ServeSettings::log_level>, kLevels},
    {"log.slowRequest", "", kDuration, "a request that takes longer is logged; 0: none is",
     At<&ServeSettings::slow_request>},

    {"tools.enable", "enable-tool", kList, "tools that run programs or open files: off until named",
     At<&ServeSettings::tools>, kPrograms},
    {"tools.privateAddresses", "allow-private-addresses", kSwitch,
     "http steps and PlanRefs may go to loopback and private ranges",
     Tools<&ToolOptions::allow_private_addresses>},
    {"tools.httpSlots",
     "",
     kCount,
     "http steps at once",
     Tools<&ToolOptions::http_slots>,
     {},
     1,
     10'000},
    {"tools.shellSlots",
     "",
     kCount,
     "shell steps at once",
     Tools<&ToolOptions::shell_slots>,
     {},
     1,
     10'000},
    {"tools.pythonSlots",
     "",
     kCount,
     "python steps at once",
     Tools<&ToolOptions::python_slots>,
     {},
     1,
     10'000},
    {"tools.sqliteSlots",
     "",
     kCount,
     "sqlite steps at once",
     Tools<&ToolOptions::sqlite_slots>,
     {},
     1,
     10'000},
    {"tools.inlineBytes", "", kBytes, "larger results become artifacts",
     Tools<&ToolOptions::inline_bytes_max>},
    {"plans.schemes", "", kList, "what the URI of a PlanRef may begin with",
     Tools<&ToolOptions::plan_schemes>, kSchemes},
    {"plans.hosts", "", kList, "hosts of https PlanRefs; empty: any with a public address",
     Tools<&ToolOptions::plan_hosts>},

    {"workers.lease",
     "",
     kDuration,
     "a task without a heartbeat for so long is delivered again",
     Workers<&RemoteWorkOptions::lease>,
     {},
     1'000},
    {"workers.forgotten",
     "",
     kDuration,
     "a worker without a call for so long is forgotten",
     Workers<&RemoteWorkOptions::worker_forgotten>,
     {},
     1'000},
    {"workers.wait", "", kDuration, "the longest that a poll waits for tasks",
     Workers<&RemoteWorkOptions::wait_max>},
    {"workers.max",
     "",
     kCount,
     "workers at once",
     Workers<&RemoteWorkOptions::workers_max>,
     {},
     1,
     1'000'000},
    {"workers.batch",
     "",
     kCount,
     "tasks, reports and heartbeats of one poll",
     Workers<&RemoteWorkOptions::batch_max>,
     {},
     1,
     10'000},

    {"admission.overload", "", kWord, "what happens to a run over a limit",
     At<&ServeSettings::overload>, kOverloads},
    {"admission.queue", "", kCount, "queued runs per tenant; beyond: refused",
     Admission<&AdmissionPolicy::queue_max>},
    {"admission.delay", "", kDuration, "with `overload: delay`: how long",
     Admission<&AdmissionPolicy::delay>},
    {"admission.ageing",
     "",
     kDuration,
     "waiting so long raises priority by one",
     Admission<&AdmissionPolicy::ageing>,
     {},
     1},
    {"admission.engine.running", "", kCount, "runs at once, of all tenants; 0: no limit",
     Limit<&AdmissionPolicy::engine, &AdmissionLimit::running_max>},
    {"admission.engine.startsPerSecond", "", kNumber, "starts, of all tenants; 0: no limit",
     Limit<&AdmissionPolicy::engine, &AdmissionLimit::starts_per_second>},
    {"admission.engine.burst",
     "",
     kCount,
     "starts at once",
     Limit<&AdmissionPolicy::engine, &AdmissionLimit::starts_burst>,
     {},
     1},
    {"admission.tenant.running", "", kCount, "runs at once, of each tenant",
     Limit<&AdmissionPolicy::tenant, &AdmissionLimit::running_max>},
    {"admission.tenant.startsPerSecond", "", kNumber, "starts, of each tenant",
     Limit<&AdmissionPolicy::tenant, &AdmissionLimit::starts_per_second>},
    {"admission.tenant.burst",
     "",
     kCount,
     "starts at once",
     Limit<&AdmissionPolicy::tenant, &AdmissionLimit::starts_burst>,
     {},
     1},
    {"admission.project.running", "", kCount, "runs at once, of each project",
     Limit<&AdmissionPolicy::project, &AdmissionLimit::running_max>},
    {"admission.project.startsPerSecond", "", kNumber, "starts, of each project",
     Limit<&AdmissionPolicy::project, &AdmissionLimit::starts_per_second>},
    {"admission.project.burst",
     "",
     kCount,
     "starts at once",
     Limit<&AdmissionPolicy::project, &AdmissionLimit::starts_burst>,
     {},
     1},
    {"admission.key.running", "", kCount, "runs at once with the same concurrencyKey; 0: one",
     Limit<&AdmissionPolicy::key, &AdmissionLimit::running_max>},

    {"engine.lanes",
     "",
     kCount,
     "threads that decide; 0: one per processor, at most 4",
     Runs<&EngineOptions::lanes>,
     {},
     0,
     256},
    {"engine.pauseTimeout", "", kDuration, "a run that pauses longer raises an alert",
     Runs<&EngineOptions::drain_timeout>},
    {"engine.cancelGrace", "", kDuration, "then the steps of a cancelled run are stopped",
     Runs<&EngineOptions::cancel_grace>},
    {"engine.deliveries",
     "",
     kCount,
     "deliveries of one attempt before it counts as failed",
     Runs<&EngineOptions::engine_attempts_max>,
     {},
     1,
     1'000'000},
    {"engine.approvedSignals", "", kList, "signals that need a second person",
     Runs<&EngineOptions::signals_to_approve>},

    {"store.memory", "", kBytes, "for runs kept in memory", Store<&LogOptions::memory_bytes_max>},
    {"store.cache", "", kBytes, "for blocks read from disk", Store<&LogOptions::cache_bytes>},
    {"store.freeMin", "", kBytes, "with less free disk nothing is taken any more",
     Store<&LogOptions::free_bytes_min>},
    {"store.freeReady", "", kBytes, "with less free disk /readyz says no",
     Answers<&ApiOptions::free_bytes_ready>},
    {"store.writeLatency",
     "",
     kDuration,
     "a write that takes longer raises an alert",
     Writes<&WriteBudget::latency>,
     {},
     1},
    {"store.failOpenStepStarted", "", kSwitch,
     "while the store is slow, begin steps before that is durable",
     Writes<&WriteBudget::fail_open_step_started>},

    {"limits.connections",
     "",
     kCount,
     "connections; one more is answered with 503",
     Http<&HttpServerOptions::connections_max>,
     {},
     1,
     1'000'000},
    {"limits.inFlight",
     "",
     kCount,
     "requests not yet answered; then sockets are not read",
     Http<&HttpServerOptions::in_flight_max>,
     {},
     1,
     1'000'000},
    {"limits.memory",
     "",
     kBytes,
     "bodies and answers under way; beyond: 503",
     Http<&HttpServerOptions::memory_bytes_max>,
     {},
     1 << 20},
    {"limits.stream",
     "",
     kBytes,
     "queued for one slow reader; then it is cut off",
     Http<&HttpServerOptions::stream_bytes_max>,
     {},
     4 << 10},
    {"limits.artifact",
     "",
     kBytes,
     "the body of one upload",
     Answers<&ApiOptions::artifact_bytes_max>,
     {},
     1},
    {"limits.head",
     "",
     kBytes,
     "request line and headers",
     Http<&HttpServerOptions::head_bytes_max>,
     {},
     1 << 10,
     16 << 20},
    {"limits.headers",
     "",
     kCount,
     "headers of a request",
     Http<&HttpServerOptions::headers_max>,
     {},
     8,
     10'000},
    {"limits.target",
     "",
     kBytes,
     "path and query",
     Http<&HttpServerOptions::target_bytes_max>,
     {},
     256,
     1 << 20},
    {"limits.gzipMin", "", kBytes, "smaller answers are not compressed",
     Http<&HttpServerOptions::gzip_bytes_min>},
    {"limits.headTimeout",
     "",
     kDuration,
     "for the head of a request",
     Http<&HttpServerOptions::head_timeout>,
     {},
     1},
    {"limits.bodyTimeout",
     "",
     kDuration,
     "without a byte of the body",
     Http<&HttpServerOptions::body_timeout>,
     {},
     1},
    {"limits.idleTimeout",
     "",
     kDuration,
     "between requests",
     Http<&HttpServerOptions::idle_timeout>,
     {},
     1},
    {"limits.writeTimeout",
     "",
     kDuration,
     "without the client taking a byte",
     Http<&HttpServerOptions::write_timeout>,
     {},
     1},
    {"idempotency.lifetime",
     "",
     kDuration,
     "how long the answer to an Idempotency-Key is kept",
     Keys<&MemoryIdempotencyStore::Limits::lifetime>,
     {},
     1'000},
    {"idempotency.keys",
     "",
     kCount,
     "answers that are kept; beyond: the oldest go",
     Keys<&MemoryIdempotencyStore::Limits::keys_max>,
     {},
     1},
    {"idempotency.memory",
     "",
     kBytes,
     "for answers that are kept; beyond: the oldest go",
     Keys<&MemoryIdempotencyStore::Limits::bytes_max>,
     {},
     1 << 20},
    {"sinks.files", "", kFiles, "sinks of the server: files that describe one each",
     At<&ServeSettings::sink_files>},
    {"sinks.privateAddresses", "", kSwitch,
     "webhooks of sinks may go to loopback and private ranges",
     Sinks<&EventBusOptions::private_addresses>},
    {"sinks.brokers", "", kList, "NATS servers that the sinks of tenants may name",
     Sinks<&EventBusOptions::brokers>},
    {"sinks.directory", "", kFile, "where file sinks write; empty: `sinks` in the data folder",
     Sinks<&EventBusOptions::directory>},
    {"sinks.max",
     "",
     kCount,
     "sinks of all tenants",
     Sinks<&EventBusOptions::sinks_max>,
     {},
     1,
     100'000},
    {"messages.privateAddresses", "", kSwitch,
     "messages go to applications on other machines in private ranges",
     Server<&ServerOptions::queue_allow_private>},
    {"messages.attempts",
     "",
     kCount,
     "failed deliveries before a message is given up",
     Messages<&MessageQueueOptions::attempts_max>,
     {},
     1,
     1'000'000},
    {"messages.most",
     "",
     kCount,
     "messages in the queue; then more are refused",
     Messages<&MessageQueueOptions::messages_max>,
     {},
     1},
    {"metrics.open", "", kSwitch, "/metrics needs no token", Answers<&ApiOptions::metrics_open>},
};

}  // namespace

std::span<const Setting> SettingTable() { return kTable; }

}  // namespace everstep
