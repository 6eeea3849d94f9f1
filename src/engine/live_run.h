#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/uuid.h"
#include "engine/committer.h"
#include "machine/state.h"
#include "store/state_store.h"

namespace everstep {

// A run in memory: its row, the entities that recent decisions touched, and what is on its way to
// the store. The owning shard's lock guards it.
class LiveRun {
 public:
  LiveRun(StateStore& store, StoredRun stored)
      : store_(store),
        stored_(std::move(stored)),
        has_uuid_(IsUuidV4(stored_.run_id.value())),
        complete_(stored_.state.status == RunStatus::kAbsent) {}

  StoredRun& stored() { return stored_; }
  RunState& state() { return stored_.state; }
  const RunId& run_id() const { return stored_.run_id; }
  bool has_uuid() const { return has_uuid_; }  // its id is one

  // The entity's state, read from the store when it is not here; absent if there is none.
  Result<EntityState*> Entity(const EntityKey& key);
  // Those of one kind, from the store and from here.
  Result<std::map<EntityKey, EntityState*>> Entities(EntityKind kind);

  // The event with the key of `like`, durable or on its way.
  struct Found {
    Event event;
    std::shared_ptr<CommitUnit> unit;  // where it is on its way; null: durable
  };
  Result<std::optional<Found>> FindWithKeyOf(const Event& like);

  // For the next decision. It may be the last one's, once that has settled: the memory of a unit
  // and its parts is most of what a decision needs.
  std::shared_ptr<CommitUnit> NewUnit();
  // What was decided has been submitted as `unit`.
  void Submitted(std::shared_ptr<CommitUnit> unit);

  // The last of what is on its way; null when nothing is.
  std::shared_ptr<CommitUnit> OnItsWay();
  // Nothing is on its way: the store alone can answer for this run.
  bool AtRest();
  // Forgets entities that the store can give back. Only at rest.
  void TrimEntities();
  std::size_t MemoryBytes() const;

 private:
  struct EntityHash {
    std::size_t operator()(const EntityKey& key) const;
  };

  void DropSettled();

  StateStore& store_;
  StoredRun stored_;
  const bool has_uuid_;
  bool complete_;  // all entities of the run are here: the store need not be asked for others
  std::unordered_map<EntityKey, EntityState, EntityHash> entities_;
  std::vector<std::shared_ptr<CommitUnit>> pending_;  // in order; settled ones go in time
  std::shared_ptr<CommitUnit> spare_;                 // has settled; others may still look at it
};

}  // namespace everstep
