#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/value.h"
#include "run/tool.h"
#include "work/artifact_store.h"
#include "work/secret_mask.h"

namespace everstep {

// How a tool's work ended. The box masks secrets in it and turns it into a TaskOutcome.
struct ToolOutcome {
  bool succeeded = true;
  Value result = Value::Null();
  std::vector<ArtifactRef> artifacts;
  std::string error_code;
  std::string error_message;
  bool retryable = false;
  bool permanent = false;  // no attempt is of use, whatever the plan retries on
  std::string category = "SYSTEM";
  Value details;  // undefined: none
  std::optional<Milliseconds> retry_after;

  static ToolOutcome Success(Value result) {
    ToolOutcome outcome;
    outcome.result = std::move(result);
    return outcome;
  }
  static ToolOutcome Failure(std::string code, std::string message, bool retryable,
                             std::string category = "SYSTEM") {
    ToolOutcome outcome;
    outcome.succeeded = false;
    outcome.error_code = std::move(code);
    outcome.error_message = std::move(message);
    outcome.retryable = retryable;
    outcome.category = std::move(category);
    return outcome;
  }
  static ToolOutcome BadInput(std::string message) {
    return Failure("BAD_INPUT", std::move(message), false, "USER");
  }
  static ToolOutcome Cancelled() {
    return Failure("CANCELLED", "the step was cancelled", false, "USER");
  }
  static ToolOutcome TimedOut(Milliseconds after) {
    return Failure("TIMEOUT", "not done after " + std::to_string(after.count()) + " ms", true,
                   "TIMEOUT");
  }
};

using CallId = std::uint64_t;

// A task as a tool gets it.
struct ToolCall {
  CallId id = 0;                           // unique in the box
  Task task;                               // `inputs` is empty: it is read below
  Value inputs;                            // a map, secrets in place
  std::shared_ptr<const SecretMask> mask;  // for what leaves other than in the outcome
  std::function<void()> beat;              // a heartbeat; any thread
};

// One kind of work that waits or has effects outside. Thread-safe.
class Tool {
 public:
  using Done = std::function<void(ToolOutcome)>;

  // Stops what still runs and returns when all calls have been reported.
  virtual ~Tool() = default;
  virtual std::string_view kind() const = 0;
  virtual std::uint32_t slots() const = 0;  // zero: no limit
  // Calls `done` exactly once, from any thread, also from inside; holds no lock while it does.
  virtual void Start(ToolCall call, Done done) = 0;
  // The call ends early with CANCELLED, unless it has just ended otherwise.
  virtual void Cancel(CallId call, bool force) = 0;
};

// One kind of work that computes at once. Thread-safe; sees secrets as references only.
class ImmediateTool {
 public:
  virtual ~ImmediateTool() = default;
  virtual std::string_view kind() const = 0;
  virtual TaskOutcome Run(const Task& task) const = 0;
};

}  // namespace everstep
