#pragma once

#include <optional>
#include <string>

#include "event/event.h"
#include "machine/state.h"

namespace everstep {

// The domain says no. A value, not a failure: nothing changed, and the code is stable.
struct Rejection {
  ErrorCode code;
  std::string message;

  bool operator==(const Rejection&) const = default;
};

// The entity an event is about; nothing for events of the run itself.
std::optional<EntityKey> EntityOf(EventType type, std::string_view entity_id);

// May `event` follow in this state? `entity` is the state of the entity it is about (absent status
// when it is new; ignored for events of the run). Pure; this is the only place that knows the
// transitions. Who answers duplicates asks for the key first: Judge sees only events with new keys.
std::optional<Rejection> Judge(const RunState& run, const EntityState& entity, const Event& event);

// Applies an event that Judge let pass. Pure: the same state and event give the same state. Sets
// run.last_seq and the chain heads; the caller has set event.seq, previous_* and persisted_at.
void Evolve(RunState& run, EntityState& entity, const Event& event);

// What an order becomes in this state: attempts, entity and instance filled in where the writer
// left them open (a pause takes the next epoch, a DevKit step that starts again a new engine
// attempt …). `fallback_id` is a fresh event id, used where the event needs one. Leaves seq,
// persisted_at and the chains to the authority.
Event Resolve(const RunState& run, const EntityState& entity, const EventWrite& write,
              std::string fallback_id);

// Ends of a run: what a hook or wait that is still open becomes. True if it changed.
bool ReleaseAtRunEnd(RunState& run, EntityKind kind, EntityState& entity);

}  // namespace everstep
