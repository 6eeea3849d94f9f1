#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/sha256.h"
#include "flow/template.h"
#include "flow/value.h"

namespace everstep {

using Milliseconds = std::chrono::milliseconds;
using StepIndex = std::uint32_t;  // in Plan::steps
inline constexpr StepIndex kNoStep = UINT32_MAX;

struct RetryPolicy {
  enum class Backoff : std::uint8_t { kNone, kLinear, kExponential };
  std::uint32_t attempts_max = 1;  // in all, the first included
  Backoff backoff = Backoff::kExponential;
  Milliseconds initial_delay{1000};
  Milliseconds max_delay{60'000};
  double jitter = 0;                  // share of the delay that is random, 0 to 1
  std::vector<std::string> retry_on;  // error codes; empty: whatever the tool calls retryable

  // Before attempt `next` (2, 3 …), with `random` in [0, 1).
  Milliseconds DelayBefore(std::uint32_t next, double random) const;
};

// A secret by name. Its value exists only in the worker's memory.
struct SecretRef {
  std::string name;      // how inputs speak of it: {{ secrets.name }}
  std::string provider;  // "env" or "file"
  std::string key;
  std::string version;
};

// A call of a tool: what a step does, and what undoes it.
struct Action {
  std::string kind;  // the tool
  Template inputs;   // a map
  std::optional<Milliseconds> timeout;
  std::optional<Milliseconds> heartbeat_timeout;
  RetryPolicy retry;
  std::vector<SecretRef> secrets;
  std::string queue;          // whose slots it takes; empty: the tool's own
  std::int32_t priority = 0;  // larger first
  Template concurrency_key;   // steps with the same text do not run at the same time
  Template idempotency_key;   // handed to the callee instead of the engine's own
  bool cancellable = true;    // may be interrupted when the run is cancelled or fails
};

struct Foreach {
  Template items;  // a list
  std::string item_name = "item";
  std::string index_name = "index";
  std::uint32_t in_flight_max = 16;
};

struct WaitFor {
  enum class Kind : std::uint8_t { kDuration, kUntil, kHook, kApproval };
  Kind kind = Kind::kDuration;
  Template when;                        // kDuration: "5m" or milliseconds; kUntil: a time
  Template token;                       // kHook, kApproval; empty: made by the engine
  Template prompt;                      // kApproval: what the approver is asked
  std::optional<Milliseconds> timeout;  // kHook, kApproval
};

// A plan that a step runs as a child.
struct ChildPlan {
  std::string reference;  // a path beside this plan, or a URI; empty: inline
  std::string document;   // inline: the plan as JSON
  std::string sha256;     // expected, if the plan says it
};

struct PlanStep {
  enum class OnFailure : std::uint8_t { kFail, kHold, kContinue, kFallback };

  std::string step_id;
  std::string name;
  Action action;
  std::vector<StepIndex> depends_on;  // each once
  std::vector<StepIndex> dependants;  // in plan order
  Template when;                      // empty: always
  std::optional<Foreach> foreach;
  std::optional<WaitFor> wait_for;
  std::optional<ChildPlan> child;
  Template outputs;  // of `result`; empty: the result as it is
  OnFailure on_failure = OnFailure::kFail;
  StepIndex fallback = kNoStep;     // kFallback
  StepIndex fallback_of = kNoStep;  // runs only when that step fails
  std::optional<Action> compensate;
  std::vector<std::string> artifacts;  // files of a shell or python step to keep, by pattern
};

struct PlanInput {
  std::string name;
  std::string type;  // string, integer, number, boolean, array, object; empty: any
  std::string description;
  bool required = false;
  Value default_value;  // undefined: none
  ValueList allowed;    // enum; empty: any
  std::string schema;   // the input's whole declaration as JSON
};

// A plan as the engine runs it: checked, compiled, immutable.
struct Plan {
  std::string plan_id;
  std::string plan_version;
  std::string schema_version;
  std::string description;
  std::vector<std::string> requires_capabilities;
  std::string fallback_behavior = "reject";
  std::string target_adapter;
  bool requires_approval = false;
  std::optional<Milliseconds> timeout;  // of the whole run
  std::int32_t priority = 0;
  Template concurrency_key;  // of the run, for admission
  std::vector<PlanInput> inputs;
  std::vector<PlanStep> steps;  // in the order written
  Template outputs;             // the run's result
  std::string document;         // the bytes as given
  Sha256Digest sha256{};        // of the document

  std::unordered_map<std::string_view, StepIndex> by_id;
  StepIndex Find(std::string_view step_id) const;  // kNoStep: no such step
};

inline constexpr std::size_t kPlanBytesMax = 16 << 20;
inline constexpr std::size_t kPlanStepsMax = 200'000;

// Something in a plan that the reader should know and that does not stop it from running.
struct PlanWarning {
  std::string code;  // CAPABILITY_EMULATED, FIELD_IGNORED …
  std::string pointer;
  std::string message;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

// What the machine that is to run the plan offers.
struct PlanAudience {
  std::vector<std::string> kinds;         // tools; empty: not checked
  std::vector<std::string> capabilities;  // beyond the built-in ones
  bool other_kinds = false;               // also kinds that no tool of Everstep has
};

// Whether Everstep has such a tool, switched on or not.
bool IsBuiltInTool(std::string_view kind);
// Whether a kind of work that is done elsewhere may be called so.
bool IsToolName(std::string_view kind);
// All tools that Everstep has, whether or not an engine has them switched on.
PlanAudience EveryTool();

// Parses (YAML or JSON), checks and compiles. All faults at once, each with line, column, pointer
// and what to do: kInvalidPlan, kPlanSchemaVersionUnknown, kCapabilityNotSupported,
// kTargetAdapterMismatch (the first of these that applies; faults of all).
Result<std::shared_ptr<const Plan>> ReadPlan(std::string_view document,
                                             const PlanAudience& audience = {},
                                             std::vector<PlanWarning>* warnings = nullptr);

// The run's inputs: `given` (a JSON object or empty) with defaults filled in. kInvalidInput, all
// faults at once.
Result<Value> CheckInputs(const Plan& plan, std::string_view given);

}  // namespace everstep
