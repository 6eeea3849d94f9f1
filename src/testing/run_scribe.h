#pragma once

#include <map>
#include <string>
#include <vector>

#include "event/event.h"
#include "machine/state.h"
#include "store/state_store.h"

namespace everstep {

RunScope ScopeOf(std::string tenant_id);

// Writes the log of one run by the machine's rules and turns it into changes for a store, like the
// append authority but without it.
class RunScribe {
 public:
  RunScribe(RunNo run_no, std::string run_id, RunScope scope);

  // Adds an event that the machine must accept; `now` is its time.
  RunScribe& Write(Timestamp now, EventType type, std::string entity_id = {}, EventFacts facts = {},
                   std::string payload = {});
  // What was written since the last Finish, as one change.
  RunChange Finish(Position position);

  const RunId& run_id() const { return stored_.run_id; }
  const StoredRun& stored() const { return stored_; }
  const std::vector<Event>& log() const { return log_; }
  const std::map<EntityKey, EntityState>& entities() const { return entities_; }
  Sha256Digest KeyOf(const Event& event) const;

 private:
  void NoteIndexes(const Event& event, const EntityState& entity);
  void ReleaseAll();

  StoredRun stored_;
  std::vector<Event> log_;
  std::map<EntityKey, EntityState> entities_;
  RunChange change_;
  std::map<EntityKey, EntityState> changed_;
};

}  // namespace everstep
