#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "everstep/log.h"
#include "everstep/result.h"

namespace everstep {

// Limits on starting and running, of one tenant, project or concurrency key. Zero: no limit.
struct AdmissionLimit {
  std::uint32_t running_max = 0;   // runs at once
  double starts_per_second = 0;    // token bucket: refill
  std::uint32_t starts_burst = 1;  // token bucket: size
  std::uint32_t weight = 1;        // of a tenant, against the others
};

struct AdmissionPolicy {
  enum class Overload : std::uint8_t { kReject, kQueue, kDelay };
  Overload overload = Overload::kQueue;
  AdmissionLimit engine;   // over everything
  AdmissionLimit tenant;   // for each tenant that has no entry of its own
  AdmissionLimit project;  // for each project
  AdmissionLimit key;      // for each concurrency key of a plan; running_max 0 means 1
  std::vector<std::pair<std::string, AdmissionLimit>> tenants;
  std::uint32_t queue_max = 100'000;         // runs PENDING per tenant; beyond: rejected
  std::chrono::milliseconds delay{5'000};    // kDelay: how far into the future
  std::chrono::milliseconds ageing{10'000};  // waiting this long raises priority by one
};

// docs/operations.md: how long a write may take, and what then.
struct WriteBudget {
  std::chrono::milliseconds latency{3'000};
  // While the store is slow, start steps before their StepStarted is durable.
  bool fail_open_step_started = false;
};

struct ToolOptions {
  std::vector<std::string> enabled;  // empty: all
  std::uint32_t http_slots = 64;
  std::uint32_t shell_slots = 8;
  std::uint32_t python_slots = 4;
  std::uint32_t sqlite_slots = 4;
  bool allow_private_addresses = true;  // http and PlanRefs may go to loopback and private ranges
  std::vector<std::string> plan_schemes = {"file", "https"};
  std::vector<std::string> plan_hosts;  // for https; empty: any that is a public address
  std::string secrets_file;             // encrypted; its key is in the file <secrets_file>.key
  // Environment variables of this process that plans may read as secrets (provider `env`), as
  // "TENANT=NAME" or "TENANT=PREFIX*"; the tenant * is every tenant. By default all, because the
  // process is its user's own; a server that serves others sets its own list.
  std::vector<std::string> secret_variables = {"*=*"};
  // Proxies that the http tool may use, as "http://host:port"; "*": any.
  std::vector<std::string> http_proxies = {"*"};
  std::string artifact_directory;  // empty: beside the log's directory, or for a log in memory
                                   // a temporary one
  std::uint64_t inline_bytes_max = 64 << 10;  // larger results become artifacts
};

struct EngineOptions {
  LogOptions log;
  ToolOptions tools;
  AdmissionPolicy admission;
  WriteBudget write_budget;
  std::uint32_t lanes = 0;  // threads that decide; zero: one per processor, at most 4
  bool passive = false;     // take orders and record them; start nothing (for a store at rest)
  std::chrono::milliseconds drain_timeout{5 * 60 * 1000};
  std::chrono::milliseconds cancel_grace{10'000};  // then running steps are stopped
  std::uint32_t engine_attempts_max = 20;  // deliveries of one attempt before it counts as failed
  std::vector<std::string> signals_to_approve = {"UPDATE_TARGET"};
  std::function<void(const Alert&)> on_alert;
  // A run has ended, durably. Called on a thread that decides: be short.
  std::function<void(const std::string& run_id, const std::string& status)> on_end;
};

struct PlanRef {
  std::string uri;
  std::string sha256;
  std::string schema_version;
  std::string plan_id;
  std::string plan_version;
};

struct StartRequest {
  std::string plan;                 // the document, YAML or JSON …
  std::optional<PlanRef> plan_ref;  // … or where it is; verified before anything starts
  std::string plan_uri;             // where `plan` came from: children are found beside it
  std::string inputs;               // JSON object, or empty
  std::string run_id;               // empty: made
  std::string request_id;           // with scope and plan: the same request gives the same run
  std::string tenant_id = "default";
  std::string project_id = "default";
  std::string environment_id = "default";
  std::string triggered_by;
  std::string trigger_source = "manual";  // manual, schedule, webhook, api
  std::optional<std::int32_t> priority;   // empty: the plan's
  std::optional<SystemTime> start_at;     // not before
  std::string traceparent;  // W3C Trace Context; recorded, and passed on to tools and workers
  std::string tracestate;   // likewise
};

struct StartedRun {
  std::string run_id;
  std::string status;                // RUNNING, PENDING, or what an existing run is
  bool existing = false;             // the request had been made before
  std::uint64_t queue_position = 0;  // of a PENDING run; 1 is next
  std::optional<SystemTime> start_at;
};

// Who gives an order. Roles: Viewer, Operator, Engineer, Admin, System.
struct Actor {
  std::string id;
  std::vector<std::string> roles;
  std::string source_ip;
};

struct SignalRequest {
  std::string run_id;
  std::string tenant_id = "default";
  std::string signal_id;    // the caller's; empty: made. The same id and body: the same answer
  std::string type;         // PAUSE … ESCALATE_ALERT
  std::string payload;      // JSON object, or empty
  std::string reason;       // for the audit record
  std::string approved_by;  // where the signal needs a second person
  Actor actor;
};

struct SignalDecision {
  std::string signal_id;
  std::string decision;  // ACCEPTED, REJECTED, REVISION_REQUIRED
  std::string code;      // of a rejection: AUTHZ_DENIED, STEP_TERMINAL …
  std::string reason;
  bool repeated = false;      // it was decided before
  std::string new_run_id;     // RETRY_RUN
  std::uint64_t run_seq = 0;  // where the decision stands in the log
};

struct HookDelivery {
  std::string tenant_id = "default";
  std::string token;
  std::string payload;      // JSON value, or empty
  std::string delivery_id;  // the same id twice counts once; empty: made
};

// One thing a run waits for.
struct Blocker {
  std::string kind;     // dependency, step, timer, hook, approval, retry, slot, admission, pause,
                        // worker, lease, child, held, cancelling, store
  std::string subject;  // the step, wait, hook, key …
  std::string message;  // a sentence
  std::uint64_t cause_seq = 0;         // the event that brought it about
  std::optional<SystemTime> wakes_at;  // when it is expected to go on, if time alone decides
  std::string remedy;                  // what an operator can do, as a command; may be empty
};

struct Explanation {
  std::string run_id;
  std::string status;
  std::string substatus;
  std::string summary;  // one sentence
  std::vector<Blocker> blockers;
};

// A step as people see it, also those that have not begun.
struct StepView {
  std::string step_id;
  std::string name;
  std::string kind;
  std::string status;  // WAITING (not begun), PENDING, RUNNING, RETRYING, SUCCESS, FAILED, SKIPPED
  std::uint32_t logical_attempt = 0;
  std::uint32_t attempts_max = 1;
  std::uint32_t engine_attempt = 0;
  std::optional<SystemTime> started_at;
  std::optional<SystemTime> completed_at;
  std::optional<SystemTime> wakes_at;  // retry or timer
  std::string error_code;
  std::string error_message;
  std::string skip_code;
  std::string hook_token;         // while it waits for one
  std::uint64_t items_total = 0;  // of a loop
  std::uint64_t items_done = 0;
  std::uint64_t items_failed = 0;
  std::uint64_t items_running = 0;
  std::vector<std::string> depends_on;
  std::string child_run_id;
};

struct RunView {
  std::string run_id;
  std::string plan_id;
  std::string plan_version;
  std::string status;
  std::string substatus;
  std::uint64_t last_event_seq = 0;
  std::optional<SystemTime> started_at;
  std::optional<SystemTime> completed_at;
  std::string inputs;  // JSON
  std::string result;  // JSON, of a completed run
  std::string error_code;
  std::string error_message;
  std::uint64_t queue_position = 0;
  std::vector<StepView> steps;  // in plan order; loop items are counted in their step
};

struct EngineMetrics {
  std::uint64_t runs_started = 0;
  std::uint64_t runs_ended = 0;
  std::uint64_t runs_in_memory = 0;
  std::uint64_t steps_started = 0;
  std::uint64_t steps_ended = 0;
  std::uint64_t steps_redelivered = 0;
  std::uint64_t timers_fired = 0;
  std::uint64_t timer_lateness_us_sum = 0;
  std::uint64_t timer_lateness_us_max = 0;
  std::uint64_t run_queue_pending = 0;
  std::uint64_t run_queue_oldest_us = 0;  // how long the first of them has been there
  std::uint64_t run_queue_start_failures = 0;
  std::uint64_t run_queue_leases_expired = 0;
  std::uint64_t state_store_writes = 0;
  std::uint64_t state_store_write_latency_us_sum = 0;
  std::uint64_t state_store_write_latency_us_max = 0;
  std::uint64_t state_store_write_timeouts = 0;   // over the budget
  std::uint64_t state_store_buffered_events = 0;  // started before durable, by the option
};

// Runs plans on a log, in this process. Thread-safe.
class Engine {
 public:
  // Opens the log, recovers what was running, and goes on with it (unless passive).
  static Result<std::unique_ptr<Engine>> Open(EngineOptions options);
  // Stops: nothing new is started, tasks that run are stopped and will be delivered again.
  virtual ~Engine() = default;

  virtual Log& log() = 0;

  // On return the run is durable. kInvalidPlan, kInvalidInput, kPlanIntegrityValidationFailed,
  // kAdmissionRejected …: nothing was written.
  virtual Result<StartedRun> Start(const StartRequest& request) = 0;
  // A decision, recorded. An error only where nothing could be recorded: kRunNotFound,
  // kSignalInvalidPayload, kSignalDuplicate, kRunTerminal …
  virtual Result<SignalDecision> Signal(const SignalRequest& request) = 0;
  // Approves a run that waits for it (RunApproved).
  virtual Status Approve(std::string_view run_id, const Actor& actor, std::string_view reason) = 0;
  // Answers the run it went to. kHookNotFound; kSchemaValidationFailed: an approval takes an object
  // whose `approved` is true or false, and waits on.
  virtual Result<std::string> Deliver(const HookDelivery& delivery) = 0;

  virtual Result<Explanation> Why(std::string_view run_id) = 0;
  virtual Result<RunView> View(std::string_view run_id) = 0;
  // True: the run has ended. False: `wait` is over, or the engine stops.
  virtual Result<bool> WaitForEnd(std::string_view run_id, std::chrono::milliseconds wait) = 0;
  virtual EngineMetrics Metrics() = 0;
  // Starts no more steps and waits for those that run. False: some still ran at the end.
  virtual bool Drain(std::chrono::milliseconds wait) = 0;
};

}  // namespace everstep
