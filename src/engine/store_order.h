#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/sha256.h"
#include "everstep/result.h"
#include "store/state_store.h"

namespace everstep {

// What modules may have written besides events and plain documents. The committer carries orders
// out, each alone and between two writes of events (Committer::CarryOut). An order is durable as a
// whole or not at all; whoever gives one changes its own state only after the order is durable.

// Stores a plan under the SHA-256 of its document. Idempotent.
struct StorePlan {
  Sha256Digest sha256{};
  std::string document;
};
// Stores a document unless there is one with its key already: of two at once, one is the first.
struct StoreFirst {
  TenantDocument document;
  std::optional<std::string> existing{};  // the answer: the text of the document that is there
};
// Keeps a run as it is; it takes no more events.
struct QuarantineRun {
  RunId run_id;
  std::string reason;
};
// Removes ended runs and expired tombstones.
struct PurgeRuns {
  std::vector<RunId> runs;
  Timestamp now{};
  Timestamp tombstones_expired{};
};
// Creates or moves a sink, with its definition and its dead letters: SinkMove.
// Removes a sink with its definition and its dead letters.
struct ForgetSink {
  SinkKey key;
};

using StoreOrder =
    std::variant<StorePlan, StoreFirst, QuarantineRun, PurgeRuns, SinkMove, ForgetSink>;

// Writes the order. For the committer only: nothing else may write at the same time. Errors as
// those of the store's function.
Status WriteOrder(StateStore& store, StoreOrder& order);

}  // namespace everstep
