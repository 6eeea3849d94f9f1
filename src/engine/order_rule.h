#pragma once

#include <optional>
#include <span>
#include <vector>

#include "event/event.h"
#include "everstep/result.h"
#include "machine/state.h"
#include "store/state_store.h"

namespace everstep {

// Decides what an order appends from how its run stands when the order's turn comes. Called with
// the run's lock held: must not wait, and not call the authority. A decision whose commit had to
// be given up is made again.
class OrderRule {
 public:
  virtual ~OrderRule() = default;

  // The entity it wants to see; nothing: the run is enough.
  virtual std::optional<EntityKey> About() const = 0;
  // An event of its own that tells, by its key, that the order was carried out before: then it is
  // answered as that event's repeat. Null: nothing tells.
  virtual const EventWrite* Mark() const = 0;
  // The events to append, as one. None: nothing has to be written, and that is an answer too.
  virtual Result<std::vector<EventWrite>> Decide(const RunState& run,
                                                 const EntityState& entity) = 0;
  // How run and entity stand after them; a run that is new has no number yet. `events` are those
  // that were recorded for the order, not yet durable and without persisted_at; duplicates of
  // earlier ones are not among them.
  virtual void Decided(const StoredRun& run, const EntityState& entity,
                       std::span<const Event> events) = 0;
};

}  // namespace everstep
