#include "machine/run_fold.h"

#include <utility>

#include "event/catalogue.h"
#include "machine/lifecycle.h"

namespace everstep {
namespace {

void ReleaseAll(RunState& run, RunFold::Entities& entities) {
  for (const EntityKind kind : {EntityKind::kHook, EntityKind::kWait}) {
    for (auto it = entities.lower_bound(EntityKey{kind, {}});
         it != entities.end() && it->first.kind == kind; ++it) {
      ReleaseAtRunEnd(run, kind, it->second);
    }
  }
}

}  // namespace

RunFold::RunFold(RunScope scope, KeyVersion key_version) {
  run_.scope = std::move(scope);
  run_.key_version = key_version;
}

RunFold::RunFold(RunState run, Entities entities)
    : run_(std::move(run)), entities_(std::move(entities)) {}

RunFold::Applied RunFold::Apply(const Event& event) {
  if (event.seq <= run_.last_seq) return Applied::kOutOfOrder;
  if (!IsKnown(event.type)) {
    EntityState none;
    Evolve(run_, none, event);
    return Applied::kUnknownType;
  }
  lookup_.kind = SpecOf(event.type).entity;
  if (lookup_.kind == EntityKind::kRun) return ApplyToRun(event);

  lookup_.id = event.entity_id;
  const auto place = entities_.lower_bound(lookup_);
  if (place != entities_.end() && place->first == lookup_) {
    if (Judge(run_, place->second, event)) {
      MarkInvalid(event);
      return Applied::kInvalid;
    }
    Evolve(run_, place->second, event);
    return Applied::kApplied;
  }
  if (Judge(run_, EntityState{}, event)) {
    MarkInvalid(event);
    return Applied::kInvalid;
  }
  Evolve(run_, entities_.try_emplace(place, lookup_)->second, event);
  return Applied::kApplied;
}

RunFold::Applied RunFold::ApplyToRun(const Event& event) {
  EntityState none;
  if (Judge(run_, none, event)) {
    MarkInvalid(event);
    return Applied::kInvalid;
  }
  Evolve(run_, none, event);
  if (IsTerminal(run_.status)) ReleaseAll(run_, entities_);
  return Applied::kApplied;
}

void RunFold::MarkInvalid(const Event& event) {
  run_.last_seq = event.seq;
  run_.updated_at = event.persisted_at;
  run_.inconsistent = true;
}

}  // namespace everstep
