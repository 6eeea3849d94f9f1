#include "testing/run_scribe.h"

#include <utility>

#include "base/assert.h"
#include "event/idempotency_key.h"
#include "machine/machine.h"

namespace everstep {

RunScope ScopeOf(std::string tenant_id) {
  return {std::move(tenant_id), "default", "default", "plan", "1"};
}

RunScribe::RunScribe(RunNo run_no, std::string run_id, RunScope scope) {
  stored_.run_no = run_no;
  stored_.run_id = RunId(std::move(run_id));
  stored_.state.scope = std::move(scope);
}

RunScribe& RunScribe::Write(Timestamp now, EventType type, std::string entity_id, EventFacts facts,
                            std::string payload) {
  RunState& run = stored_.state;
  EntityState of_run;
  const auto key = EntityOf(type, entity_id);
  EntityState& entity = key ? entities_[*key] : of_run;

  EventWrite write;
  write.type = type;
  write.run_id = stored_.run_id;
  write.entity_id = std::move(entity_id);
  write.emitted_at = now;
  write.facts = std::move(facts);
  write.payload = std::move(payload);
  const std::string event_id = "evnt_" + std::to_string(log_.size() + 1);
  Event event = Resolve(run, entity, write, event_id);
  event.event_id = event_id;
  event.seq = Next(run.last_seq);
  event.previous_of_type = run.last_of_type[static_cast<std::size_t>(type)];
  event.previous_of_entity = key ? entity.last_seq : EventSeq();
  event.persisted_at = now;
  if (change_.events.empty()) change_.status_before = run.status;
  EVERSTEP_ASSERT(!Judge(run, entity, event).has_value());
  const EntityState before = entity;
  Evolve(run, entity, event);
  NoteIndexes(event, before.status == EntityStatus::kAbsent ? entity : before);
  if (key) changed_[*key] = entity;
  if (IsTerminal(run.status)) ReleaseAll();
  if (!event.instance_id.empty()) {
    change_.instance_keys.push_back(
        IdempotencyKey(run.key_version, stored_.run_id, run.scope, event));
  }
  change_.events.push_back(event);
  log_.push_back(std::move(event));
  return *this;
}

void RunScribe::NoteIndexes(const Event& event, const EntityState& entity) {
  if (event.type == EventType::kHookCreated) {
    change_.tokens.push_back({event.facts.token, event.entity_id});
  } else if (event.type == EventType::kHookDisposed) {
    change_.tokens.push_back({entity.token, std::nullopt});
  } else if (event.type == EventType::kWaitCreated || event.type == EventType::kWaitCompleted) {
    const bool armed = event.type == EventType::kWaitCreated;
    change_.alarms.push_back({entity.due_at, event.entity_id, armed});
  }
}

void RunScribe::ReleaseAll() {
  for (auto& [key, entity] : entities_) {
    if (key.kind != EntityKind::kHook && key.kind != EntityKind::kWait) continue;
    const EntityState before = entity;
    if (!ReleaseAtRunEnd(stored_.state, key.kind, entity)) continue;
    changed_[key] = entity;
    if (key.kind == EntityKind::kHook) {
      change_.tokens.push_back({before.token, std::nullopt});
    } else {
      change_.alarms.push_back({before.due_at, key.id, false});
    }
  }
}

RunChange RunScribe::Finish(Position position) {
  RunChange change = std::exchange(change_, {});
  change.run_no = stored_.run_no;
  change.run_id = stored_.run_id;
  change.state = stored_.state;
  change.position = position;
  for (auto& [key, entity] : changed_) change.entities.emplace_back(key, entity);
  changed_.clear();
  return change;
}

Sha256Digest RunScribe::KeyOf(const Event& event) const {
  return IdempotencyKey(stored_.state.key_version, stored_.run_id, stored_.state.scope, event);
}

}  // namespace everstep
