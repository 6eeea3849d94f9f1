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

// Start and concurrency limits of one tenant, project or concurrency key. Zero: no limit.
struct AdmissionLimit {
  std::uint32_t running_max = 0;   // concurrent runs
  double starts_per_second = 0;    // token bucket: refill rate
  std::uint32_t starts_burst = 1;  // token bucket: size
  std::uint32_t weight = 1;        // a tenant's share relative to other tenants
};

struct AdmissionPolicy {
  enum class Overload : std::uint8_t { kReject, kQueue, kDelay };
  Overload overload = Overload::kQueue;
  AdmissionLimit engine;   // the whole engine
  AdmissionLimit tenant;   // each tenant without an entry in `tenants`
  AdmissionLimit project;  // each project
  AdmissionLimit key;      // each concurrency key of a plan; running_max 0 means 1
  std::vector<std::pair<std::string, AdmissionLimit>> tenants;
  std::uint32_t queue_max = 100'000;         // PENDING runs per tenant; more are rejected
  std::chrono::milliseconds delay{5'000};    // kDelay: how far a start is postponed
  std::chrono::milliseconds ageing{10'000};  // priority rises by one per interval waited
};

// How long a write to the store may take and what happens when it takes longer; see
// docs/operations.md.
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
  bool allow_private_addresses = true;  // for http and PlanRefs: loopback and private ranges
  std::vector<std::string> plan_schemes = {"file", "https"};
  std::vector<std::string> plan_hosts;  // for https; empty: any host with a public address
  std::string secrets_file;             // encrypted; its key is in the file <secrets_file>.key
  // Environment variables of this process that plans may read as secrets (provider `env`), as
  // "TENANT=NAME" or "TENANT=PREFIX*"; tenant "*" matches every tenant. The default allows all,
  // because the process belongs to its user; a multi-tenant server must set its own list.
  std::vector<std::string> secret_variables = {"*=*"};
  // Proxies that the http tool may use, as "http://host:port"; "*": any.
  std::vector<std::string> http_proxies = {"*"};
  std::string artifact_directory;  // empty: next to the log's directory, or a temporary directory
                                   // for an in-memory log
  std::uint64_t inline_bytes_max = 64 << 10;  // larger results are stored as artifacts
};

struct EngineOptions {
  LogOptions log;
  ToolOptions tools;
  AdmissionPolicy admission;
  WriteBudget write_budget;
  std::uint32_t lanes = 0;  // decision threads; zero: one per processor, at most 4
  // Tasks under way that no tool's slots bound: those for workers, and sleep. Further steps wait.
  std::uint32_t tasks_max = 100'000;
  // For runs with work under way and their plans, about. Beyond it the least recently used are read
  // from the log again when they go on.
  std::uint64_t memory_bytes_max = 512 << 20;
  bool passive = false;  // accept and record commands, but execute nothing
  std::chrono::milliseconds drain_timeout{5 * 60 * 1000};
  std::chrono::milliseconds cancel_grace{10'000};  // until a cancelled run's steps are stopped
  std::uint32_t engine_attempts_max = 20;  // deliveries of one attempt before it counts as failed
  // A checkpoint of a run is written with every so many of its events (more if its state is large),
  // so that waking it reads the rest of its log only. Zero: none are written or read.
  std::uint32_t checkpoint_events = 256;
  std::vector<std::string> signals_to_approve = {"UPDATE_TARGET"};
  std::function<void(const Alert&)> on_alert;
  // Called once a run's end is durable. Runs on a decision thread, so it must not block.
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
  std::string format = "plan";      // which kind of program it is
  std::optional<PlanRef> plan_ref;  // … or a reference to it; verified before anything starts
  std::string plan_uri;             // where `plan` came from; child plans are found relative to it
  std::string inputs;               // JSON object, or empty
  std::string run_id;               // empty: generated
  std::string request_id;           // same id, scope and plan: returns the run already started
  std::string tenant_id = "default";
  std::string project_id = "default";
  std::string environment_id = "default";
  std::string triggered_by;
  std::string trigger_source = "manual";  // manual, schedule, webhook, api
  std::optional<std::int32_t> priority;   // unset: the plan's
  std::optional<SystemTime> start_at;     // do not start before
  std::string traceparent;  // W3C Trace Context; recorded and passed on to tools and workers
  std::string tracestate;   // likewise
};

struct StartedRun {
  std::string run_id;
  std::string status;                // RUNNING, PENDING, or the status of the existing run
  bool existing = false;             // an earlier identical request already started the run
  std::uint64_t queue_position = 0;  // of a PENDING run; 1 is next
  std::optional<SystemTime> start_at;
};

// Who issues a command. Roles: Viewer, Operator, Engineer, Admin, System.
struct Actor {
  std::string id;
  std::vector<std::string> roles;
  std::string source_ip;
};

struct SignalRequest {
  std::string run_id;
  std::string tenant_id = "default";
  // Chosen by the caller; empty: generated. A repeat with the same body returns the same decision.
  std::string signal_id;
  std::string type;         // PAUSE … ESCALATE_ALERT
  std::string payload;      // JSON object, or empty
  std::string reason;       // for the audit record
  std::string approved_by;  // for signals that need a second person
  Actor actor;
};

struct SignalDecision {
  std::string signal_id;
  std::string decision;  // ACCEPTED, REJECTED, REVISION_REQUIRED
  std::string code;      // of a rejection: AUTHZ_DENIED, STEP_TERMINAL …
  std::string reason;
  bool repeated = false;      // the signal was already decided by an earlier request
  std::string new_run_id;     // RETRY_RUN
  std::uint64_t run_seq = 0;  // position of the decision in the run's log
};

// What the holder of a hook's token reports to the step that waits.
struct HookDelivery {
  enum class Kind : std::uint8_t {
    kPayload,    // the step's result
    kFailure,    // the step's attempt fails, and its retry policy applies
    kHeartbeat,  // an answer will follow: the step's heartbeat timeout begins again
  };
  std::string tenant_id = "default";
  std::string token;
  std::string payload;      // kPayload: JSON value, or empty
  std::string delivery_id;  // a repeated id is delivered once; empty: generated
  Kind kind = Kind::kPayload;
  std::string error_code{};     // kFailure: 1 to 128 of A-Z a-z 0-9 . _ : -
  std::string error_message{};  // kFailure
  bool retryable = true;        // kFailure: false if another attempt would fail too
};

// One thing a run is waiting for.
struct Blocker {
  std::string kind;     // dependency, step, timer, hook, approval, retry, slot, admission, pause,
                        // worker, lease, child, held, cancelling, store
  std::string subject;  // the step, wait, hook, key …
  std::string message;  // a sentence
  std::uint64_t cause_seq = 0;         // the event that caused the wait
  std::optional<SystemTime> wakes_at;  // when the run continues, if only time is needed
  std::string remedy;                  // a command that an operator can run; may be empty
};

struct Explanation {
  std::string run_id;
  std::string status;
  std::string substatus;
  std::string summary;  // one sentence
  std::vector<Blocker> blockers;
};

// A step for display, including steps that have not started.
struct StepView {
  std::string step_id;
  std::string name;
  std::string kind;
  // WAITING (not started), PENDING, RUNNING, RETRYING, SUCCESS, FAILED, SKIPPED
  std::string status;
  std::uint32_t logical_attempt = 0;
  std::uint32_t attempts_max = 1;
  std::uint32_t engine_attempt = 0;
  std::optional<SystemTime> started_at;
  std::optional<SystemTime> completed_at;
  std::optional<SystemTime> wakes_at;  // retry or timer
  std::string error_code;
  std::string error_message;
  std::string skip_code;
  std::string hook_token;         // while the step waits for a hook
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
  std::vector<StepView> steps;  // in plan order; loop items are counted in their loop step
};

struct EngineMetrics {
  std::uint64_t runs_started = 0;
  std::uint64_t runs_ended = 0;
  std::uint64_t runs_in_memory = 0;
  std::uint64_t run_bytes = 0;  // memory of those, about, without their plans
  std::uint64_t steps_started = 0;
  std::uint64_t steps_ended = 0;
  std::uint64_t steps_redelivered = 0;
  std::uint64_t timers_fired = 0;
  std::uint64_t timer_lateness_us_sum = 0;
  std::uint64_t timer_lateness_us_max = 0;
  std::uint64_t run_queue_pending = 0;
  std::uint64_t run_queue_oldest_us = 0;  // age of the oldest entry
  std::uint64_t run_queue_start_failures = 0;
  std::uint64_t run_queue_leases_expired = 0;
  std::uint64_t state_store_writes = 0;
  std::uint64_t state_store_write_latency_us_sum = 0;
  std::uint64_t state_store_write_latency_us_max = 0;
  std::uint64_t state_store_write_timeouts = 0;   // writes that exceeded WriteBudget::latency
  std::uint64_t state_store_buffered_events = 0;  // see WriteBudget::fail_open_step_started
};

// Runs plans on a log, in this process. Thread-safe.
class Engine {
 public:
  // Opens the log, recovers the runs in progress and, unless passive, continues them.
  static Result<std::unique_ptr<Engine>> Open(EngineOptions options);
  // Stops the engine: starts nothing new and stops running tasks. They are delivered again after
  // the next Open.
  virtual ~Engine() = default;

  virtual Log& log() = 0;

  // Starts a run. On return the run is durable. On kInvalidPlan, kInvalidInput,
  // kPlanIntegrityValidationFailed, kAdmissionRejected … nothing was written.
  virtual Result<StartedRun> Start(const StartRequest& request) = 0;
  // Decides a signal and records the decision, including a rejection. Returns an error only if
  // nothing could be recorded: kRunNotFound, kSignalInvalidPayload, kSignalDuplicate,
  // kRunTerminal …
  virtual Result<SignalDecision> Signal(const SignalRequest& request) = 0;
  // Approves a run that is waiting for approval (RunApproved).
  virtual Status Approve(std::string_view run_id, const Actor& actor, std::string_view reason) = 0;
  // Delivers a payload, a failure or a heartbeat to a waiting hook and returns the id of its run.
  // kHookNotFound. kInvalidArgument: an invalid delivery id or error code.
  // kSchemaValidationFailed: the hook is an approval, and the payload is not an object with a
  // boolean `approved`; the hook keeps waiting. kCapabilityNotSupported: the hook's run takes only
  // payloads.
  virtual Result<std::string> Deliver(const HookDelivery& delivery) = 0;

  // Explains what the run is waiting for.
  virtual Result<Explanation> Why(std::string_view run_id) = 0;
  virtual Result<RunView> View(std::string_view run_id) = 0;
  // Returns true if the run has ended, false if `wait` elapsed or the engine is stopping.
  virtual Result<bool> WaitForEnd(std::string_view run_id, std::chrono::milliseconds wait) = 0;
  virtual EngineMetrics Metrics() = 0;
  // Stops starting steps and waits for the running ones. Returns false if some are still running
  // after `wait`.
  virtual bool Drain(std::chrono::milliseconds wait) = 0;
};

}  // namespace everstep
