#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/value.h"
#include "run/tool.h"
#include "work/artifact_store.h"
#include "work/secret_mask.h"

namespace everstep {

// The outcome of a tool call. The tool box masks secrets in it and converts it to a TaskOutcome.
struct ToolOutcome {
  bool succeeded = true;
  Value result = Value::Null();
  std::vector<ArtifactRef> artifacts;
  std::string error_code;
  std::string error_message;
  bool retryable = false;
  bool permanent = false;  // never retried, even if the plan's retryOn includes the code
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
    return Failure("TIMEOUT", "timed out after " + std::to_string(after.count()) + " ms", true,
                   "TIMEOUT");
  }
};

using CallId = std::uint64_t;

// A task in the form that a tool receives.
struct ToolCall {
  CallId id = 0;                           // unique in the box
  Task task;                               // `inputs` is empty; see below
  Value inputs;                            // a map that contains the secret values
  std::shared_ptr<const SecretMask> mask;  // for data that leaves by other ways than the outcome
  std::function<void()> beat;              // sends a heartbeat; thread-safe
};

// A tool that waits or has external effects. Thread-safe.
class Tool {
 public:
  using Done = std::function<void(ToolOutcome)>;

  // Stops the calls that still run and returns after all calls have been reported.
  virtual ~Tool() = default;
  virtual std::string_view kind() const = 0;
  virtual std::uint32_t slots() const = 0;  // zero: no limit
  // Calls `done` exactly once, on any thread, possibly before Start returns, and without holding a
  // lock.
  virtual void Start(ToolCall call, Done done) = 0;
  // Ends the call early with CANCELLED, unless it has already ended.
  virtual void Cancel(CallId call, bool force) = 0;
};

// A tool that computes its result immediately. Thread-safe. It only gets references to secrets, not
// their values.
class ImmediateTool {
 public:
  virtual ~ImmediateTool() = default;
  virtual std::string_view kind() const = 0;
  virtual TaskOutcome Run(const Task& task) const = 0;
};

}  // namespace everstep
