#pragma once

#include <optional>
#include <span>
#include <vector>

#include "event/event.h"
#include "everstep/result.h"
#include "machine/state.h"
#include "store/state_store.h"

namespace everstep {

// Decides which events an order appends, based on the state of its run at that moment. Called with
// the shard's lock held, so it must not block or call AppendAuthority. Called again if a failed
// write invalidates the decision.
class OrderRule {
 public:
  virtual ~OrderRule() = default;

  // The entity that Decide needs to see, if any.
  virtual std::optional<EntityKey> About() const = 0;
  // An event whose idempotency key identifies the order. If the log already has it, the order is
  // answered as its duplicate and Decide is not called. Null: repeats are not detected.
  virtual const EventWrite* Mark() const = 0;
  // Returns the events to append atomically. An empty list is valid: the order is accepted and
  // nothing is written.
  virtual Result<std::vector<EventWrite>> Decide(const RunState& run,
                                                 const EntityState& entity) = 0;
  // Called with the run and the entity as they are after the order; a new run has no number yet.
  // `events` are the events recorded for the order, without duplicates of earlier ones. They are
  // not durable yet and have no persisted_at.
  virtual void Decided(const StoredRun& run, const EntityState& entity,
                       std::span<const Event> events) = 0;
};

}  // namespace everstep
