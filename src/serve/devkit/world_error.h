#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/cbor.h"
#include "everstep/error.h"

namespace everstep {

// Why a call of an application is refused, using the error names that Workflow DevKit's runtime
// recognizes.
struct WorldError {
  std::string_view name = "WorkflowWorldError";
  int status = 500;
  std::string message;
  std::uint32_t retry_after = 0;  // seconds
  std::string_view code = {};

  static WorldError Conflict(std::string message) {
    return {"EntityConflictError", 409, std::move(message)};
  }
  static WorldError Expired(std::string message) {
    return {"RunExpiredError", 410, std::move(message)};
  }
  static WorldError TooEarly(std::string message, std::uint32_t seconds) {
    return {"TooEarlyError", 425, std::move(message), seconds};
  }
  static WorldError Throttled(std::string message, std::uint32_t seconds) {
    return {"ThrottleError", 429, std::move(message), seconds};
  }
  static WorldError NoRun(std::string_view run_id) {
    return {"WorkflowRunNotFoundError", 404,
            "Workflow run \"" + std::string(run_id) + "\" not found"};
  }
  static WorldError NoHook(std::string_view hook) {
    return {"HookNotFoundError", 404, "Hook not found: " + std::string(hook)};
  }
  static WorldError NotFound(std::string message) {
    return {"WorkflowWorldError", 404, std::move(message)};
  }
  static WorldError Invalid(std::string message) {
    return {"WorkflowWorldError", 400, std::move(message)};
  }
  static WorldError Attributes(std::string message) {
    return {"AttributeValidationError", 400, std::move(message)};
  }
  static WorldError Unsupported(std::string message) {
    return {"RunNotSupportedError", 400, std::move(message)};
  }

  void Write(CborWriter& cbor) const;
};

// Translates an engine error; those without a DevKit name of their own become WorkflowWorldError.
WorldError WorldErrorOf(const Error& error);

}  // namespace everstep
