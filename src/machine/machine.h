#pragma once

#include <optional>
#include <string>

#include "event/event.h"
#include "machine/state.h"

namespace everstep {

// The rules do not allow an event. A value, not a failure: nothing was changed. The code is stable.
struct Rejection {
  ErrorCode code;
  std::string message;

  bool operator==(const Rejection&) const = default;
};

// The entity that an event concerns; nothing for events of the run itself and for unknown types.
std::optional<EntityKey> EntityOf(EventType type, std::string_view entity_id);

// Decides whether `event` is allowed in this state. Returns nothing if it is. `entity` is the state
// of the entity that the event concerns (kAbsent if it is new; ignored for events of the run).
// Pure. The only code that knows the allowed transitions. Does not detect duplicates: the caller
// must check the idempotency key itself.
std::optional<Rejection> Judge(const RunState& run, const EntityState& entity, const Event& event);

// Applies an event that Judge accepted. Pure: the same state and event give the same result. Sets
// run.last_seq and the chain heads. Requires: event.seq, previous_* and persisted_at are set.
void Evolve(RunState& run, EntityState& entity, const Event& event);

// Turns an order into an event: fills in the attempts and the instance that the writer left open,
// based on the current state (a pause gets the next epoch, a running step that starts again a new
// engine attempt …). `fallback_id` is used if the order has no event id. Does not set seq,
// persisted_at and the chains; the append authority does.
Event Resolve(const RunState& run, const EntityState& entity, const EventWrite& write,
              std::string fallback_id);

// Ends a hook or wait that is still open when its run ends. Returns true if the entity changed.
bool ReleaseAtRunEnd(RunState& run, EntityKind kind, EntityState& entity);

}  // namespace everstep
