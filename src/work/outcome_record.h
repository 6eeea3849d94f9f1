#pragma once

#include <cstdint>

#include "run/tool.h"
#include "work/artifact_store.h"
#include "work/secret_mask.h"
#include "work/tool_port.h"

namespace everstep {

// Converts the outcome of a tool or a worker to the form that is recorded in the log: secrets are
// masked, and a result larger than `inline_bytes_max` is moved to the artifact store. Thread-safe.
class OutcomeRecord {
 public:
  OutcomeRecord(ArtifactStore artifacts, std::uint64_t inline_bytes_max)
      : artifacts_(std::move(artifacts)), inline_bytes_max_(inline_bytes_max) {}

  TaskOutcome Of(ToolOutcome outcome, const SecretMask& mask) const;
  // For outcomes that are already JSON text. Does not parse them unless there are secrets to mask
  // or the result is large.
  TaskOutcome Of(TaskOutcome outcome, const SecretMask& mask) const;

 private:
  // Moves the JSON result to the artifact store if it is large, and adds the reference to `refs`.
  Status MoveResult(std::string& result, ValueList& refs) const;

  const ArtifactStore artifacts_;
  const std::uint64_t inline_bytes_max_;
};

}  // namespace everstep
