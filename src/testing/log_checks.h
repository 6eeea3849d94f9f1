#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/state_store.h"
#include "testing/answer_book.h"
#include "testing/reference_log.h"

namespace everstep {

// The entire content of a store.
struct StoredLog {
  struct Run {
    StoredRun row;
    std::vector<Event> events;
    std::map<EntityKey, EntityState> entities;
  };
  std::map<RunId, Run> runs;
  std::vector<OutboxEntry> outbox;
};
Result<StoredLog> ReadStoredLog(StateStore& store);

// The faults that a check found, one sentence each.
using Findings = std::vector<std::string>;

// Every acknowledged event exists exactly once, with the position, id and time that were returned.
Findings CheckAcknowledged(const StoredLog& log, const AnswerBook& book,
                           const ReferenceLog& reference);
// Nothing exists of an order that was refused or reported as not written.
Findings CheckRefused(const StoredLog& log, const AnswerBook& book);
// Of an order whose outcome is unknown to the caller, either all events exist or none.
Findings CheckWholeOrNothing(const StoredLog& log, const AnswerBook& book);
// An event never changes its id or time once they were seen.
Findings CheckIdentities(const StoredLog& log, AnswerBook& book, const ReferenceLog& reference);
// run_seq counts 1, 2, 3 …, and the run's row holds the last one.
Findings CheckContiguous(const StoredLog& log);
// persisted_at never decreases, neither within a run nor in commit order.
Findings CheckTimes(const StoredLog& log);
// A token belongs to one active hook, and the store finds that hook by it.
Findings CheckTokens(const StoredLog& log, StateStore& store);
// Runs, events and states are equal to those of the reference.
Findings CheckAgainstReference(const StoredLog& log, const ReferenceLog& reference);
// Among the runs that orders went to, exactly the removed ones have a tombstone.
Findings CheckTombstones(StateStore& store, const AnswerBook& book, const ReferenceLog& reference);
// Replay yields the stored state, and the store's rows are consistent with each other.
Findings CheckVerified(StateStore& store);

}  // namespace everstep
