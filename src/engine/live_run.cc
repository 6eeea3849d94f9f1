#include "engine/live_run.h"

#include <algorithm>

#include "base/assert.h"
#include "event/idempotency_key.h"

namespace everstep {
namespace {

// Large enough for the working set of a busy run, small enough for thousands of runs.
constexpr std::size_t kEntitiesKept = 256;
constexpr std::size_t kEntityBytes = 420;  // a typical entity, including its map node

}  // namespace

std::size_t LiveRun::EntityHash::operator()(const EntityKey& key) const {
  return std::hash<std::string>{}(key.id) * 31 + static_cast<std::size_t>(key.kind);
}

Result<EntityState*> LiveRun::Entity(const EntityKey& key) {
  const auto known = entities_.find(key);
  if (known != entities_.end()) return &known->second;
  EntityState state;
  if (!complete_) {
    auto found = store_.Read()->FindEntity(stored_.run_no, key);
    if (!found) return std::move(found).error();
    if (*found) state = std::move(**found);
  }
  return &entities_.emplace(key, std::move(state)).first->second;
}

Result<std::map<EntityKey, EntityState*>> LiveRun::Entities(EntityKind kind) {
  if (!complete_) {
    const auto adopt = [this](EntityKey key, EntityState state) {
      entities_.try_emplace(std::move(key), std::move(state));
    };
    const Status read = store_.Read()->VisitEntities(stored_.run_no, kind, adopt);
    if (!read) return read.error();
  }
  std::map<EntityKey, EntityState*> all;
  for (auto& [key, state] : entities_) {
    if (key.kind == kind && state.status != EntityStatus::kAbsent) all.emplace(key, &state);
  }
  return all;
}

Result<std::optional<LiveRun::Found>> LiveRun::FindWithKeyOf(const Event& like) {
  for (const auto& unit : pending_) {
    const auto& events = unit->change.events;
    const auto found = std::ranges::find_if(
        events, [&like](const Event& event) { return HaveSameKey(event, like); });
    if (found == events.end()) continue;
    return std::optional(Found{*found, unit->settled() ? nullptr : unit});
  }
  const RunState& state = stored_.state;
  if (state.status == RunStatus::kAbsent) return std::optional<Found>();
  const auto key = IdempotencyKey(state.key_version, stored_.run_id, state.scope, like);
  auto found = store_.Read()->FindByKey(stored_, like, key);
  if (!found) return std::move(found).error();
  if (!*found) return std::optional<Found>();
  return std::optional(Found{std::move(**found), nullptr});
}

void LiveRun::DropSettled() {
  // Units settle in order.
  if (pending_.empty() || !pending_.front()->settled()) return;
  if (pending_.back()->settled()) spare_ = std::move(pending_.back());
  std::erase_if(pending_, [](const auto& unit) { return unit == nullptr || unit->settled(); });
}

std::shared_ptr<CommitUnit> LiveRun::NewUnit() {
  DropSettled();
  if (spare_.use_count() != 1) return std::make_shared<CommitUnit>();
  // use_count() is a relaxed load and does not synchronize with the other owners' last accesses.
  // Releasing a reference of our own does.
  std::shared_ptr<CommitUnit>(spare_).reset();
  if (!spare_->Reuse()) return std::make_shared<CommitUnit>();
  return std::move(spare_);
}

void LiveRun::Submitted(std::shared_ptr<CommitUnit> unit) {
  DropSettled();
  EVERSTEP_ASSERT(unit->change.run_no == stored_.run_no && stored_.run_no != RunNo());
  EVERSTEP_ASSERT(unit->change.state.last_seq == stored_.state.last_seq);
  EVERSTEP_ASSERT(pending_.empty() || pending_.back()->change.position < unit->change.position);
  stored_.state.updated_at = unit->change.state.updated_at;
  stored_.state.created_at = unit->change.state.created_at;
  pending_.push_back(std::move(unit));
}

std::shared_ptr<CommitUnit> LiveRun::OnItsWay() { return AtRest() ? nullptr : pending_.back(); }

bool LiveRun::AtRest() {
  DropSettled();
  return pending_.empty();
}

void LiveRun::TrimEntities() {
  EVERSTEP_ASSERT(pending_.empty());
  if (entities_.size() <= kEntitiesKept) return;
  entities_.clear();
  complete_ = false;
}

std::size_t LiveRun::MemoryBytes() const {
  return sizeof(LiveRun) + 256 + entities_.size() * kEntityBytes;
}

}  // namespace everstep
