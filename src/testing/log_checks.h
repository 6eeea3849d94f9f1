#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/state_store.h"
#include "testing/answer_book.h"
#include "testing/reference_log.h"

namespace everstep {

// All that a store holds.
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

// What the checks below found wrong, one sentence each.
using Findings = std::vector<std::string>;

// Every event that was acknowledged is there, once, with the place, id and time that were answered.
Findings CheckAcknowledged(const StoredLog& log, const AnswerBook& book,
                           const ReferenceLog& reference);
// Nothing of an order that was refused, or said not to be written, is there.
Findings CheckRefused(const StoredLog& log, const AnswerBook& book);
// An order whose outcome nobody was told is there with all its events or with none.
Findings CheckWholeOrNothing(const StoredLog& log, const AnswerBook& book);
// An event keeps the id and time it was ever seen with.
Findings CheckIdentities(const StoredLog& log, AnswerBook& book, const ReferenceLog& reference);
// run_seq counts 1, 2, 3 …, and the run's row knows the last.
Findings CheckContiguous(const StoredLog& log);
// persisted_at never goes back, in a run and along the order of commits.
Findings CheckTimes(const StoredLog& log);
// A token belongs to one active hook, and the store finds that one by it.
Findings CheckTokens(const StoredLog& log, StateStore& store);
// The same runs, events and states as the reference has.
Findings CheckAgainstReference(const StoredLog& log, const ReferenceLog& reference);
// Of all runs that orders went to, the removed ones and no others have a tombstone.
Findings CheckTombstones(StateStore& store, const AnswerBook& book, const ReferenceLog& reference);
// Replay gives the stored state, and the store's rows agree with each other.
Findings CheckVerified(StateStore& store);

}  // namespace everstep
