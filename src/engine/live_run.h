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

// A run in memory: its stored state, the entities touched by recent decisions, and the changes in
// flight to the store. Guarded by the owning shard's lock.
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
  bool has_uuid() const { return has_uuid_; }  // the run id is a version 4 UUID

  // Returns the entity's state, loading it from the store if necessary. Its status is kAbsent if
  // there is no such entity. The pointer stays valid until TrimEntities.
  Result<EntityState*> Entity(const EntityKey& key);
  // Returns all entities of one kind, including those in the store.
  Result<std::map<EntityKey, EntityState*>> Entities(EntityKind kind);

  // An event, durable or in flight, that has the idempotency key of `like`.
  struct Found {
    Event event;
    std::shared_ptr<CommitUnit> unit;  // the unit in flight that contains it; null: durable
  };
  Result<std::optional<Found>> FindWithKeyOf(const Event& like);

  // Returns a unit for the next decision. Reuses a settled unit if possible, because most of the
  // memory that a decision needs is in its unit.
  std::shared_ptr<CommitUnit> NewUnit();
  // Must be called after the decision was submitted as `unit`.
  void Submitted(std::shared_ptr<CommitUnit> unit);

  // The last unit in flight; null if there is none.
  std::shared_ptr<CommitUnit> OnItsWay();
  // Returns true if no unit is in flight, so the store has the run's complete state.
  bool AtRest();
  // Drops cached entities if there are too many. Requires: AtRest().
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
  bool complete_;  // entities_ contains all entities of the run
  std::unordered_map<EntityKey, EntityState, EntityHash> entities_;
  std::vector<std::shared_ptr<CommitUnit>> pending_;  // in order; may include settled units
  std::shared_ptr<CommitUnit> spare_;                 // settled; others may still hold it
};

}  // namespace everstep
