#pragma once

#include <cstdint>

#include "run/tool.h"
#include "work/artifact_store.h"
#include "work/secret_mask.h"
#include "work/tool_port.h"

namespace everstep {

// Makes of what a tool or a worker gave what the log keeps: secrets are masked, and a result of
// more than `inline_bytes_max` lies in the artifact store. Thread-safe.
class OutcomeRecord {
 public:
  OutcomeRecord(ArtifactStore artifacts, std::uint64_t inline_bytes_max)
      : artifacts_(std::move(artifacts)), inline_bytes_max_(inline_bytes_max) {}

  TaskOutcome Of(ToolOutcome outcome, const SecretMask& mask) const;
  // Of texts that are JSON already; what has no secrets and is small is not looked into.
  TaskOutcome Of(TaskOutcome outcome, const SecretMask& mask) const;

 private:
  // Moves the result, which is JSON, if it is large. Adds to `refs`.
  Status MoveResult(std::string& result, ValueList& refs) const;

  const ArtifactStore artifacts_;
  const std::uint64_t inline_bytes_max_;
};

}  // namespace everstep
