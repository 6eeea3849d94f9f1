#include "engine/draft.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/json.h"
#include "base/uuid.h"
#include "engine/order_rule.h"
#include "event/catalogue.h"
#include "event/idempotency_key.h"
#include "machine/machine.h"

namespace everstep {
namespace {

bool EndsRun(EventType type) {
  return type == EventType::kRunCompleted || type == EventType::kRunFailed ||
         type == EventType::kRunCancelled;
}

// Returns whether an event that Judge accepts may still have the key of an earlier event. For
// events that do not repeat, acceptance itself proves that this attempt has no event of this type.
bool MayRepeat(const Event& event, const EntityState* entity) {
  if (SpecOf(event.type).repeats || !event.instance_id.empty() || event.facts.late) return true;
  return event.type == EventType::kStepStarted && entity->status == EntityStatus::kRunning;
}

bool SameJson(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto left = CanonicalJson(a.empty() ? "{}" : a);
  const auto right = CanonicalJson(b.empty() ? "{}" : b);
  return left && right && *left == *right;
}

Placed PlaceOf(const Event& event) {
  return {event.event_id, event.seq, event.persisted_at, false, false};
}

// The answer for several events is the position of the first, but it waits for the last.
void WaitAlsoFor(const Draft::Answer& next, Draft::Answer& answer) {
  if (!answer.event_index) answer.event_index = next.event_index;
  if (next.earlier == nullptr) return;
  const bool is_later =
      answer.earlier == nullptr || answer.earlier->change.position < next.earlier->change.position;
  if (is_later) answer.earlier = next.earlier;
}

void FillEmpty(std::string& member, const std::string& fallback) {
  if (member.empty()) member = fallback;
}

}  // namespace

// The draft's state before an order of several events.
struct Draft::Savepoint {
  RunState state;
  std::size_t events;
  std::size_t instance_keys;
  std::size_t tokens;
  std::size_t alarms;
  std::vector<std::pair<EntityState*, EntityState>> entities;  // with their state before
};

Draft::Draft(LiveRun& run, World world)
    : run_(run), world_(world), unit_(run.NewUnit()), updated_before_(run.state().updated_at) {
  world_.touched.clear();
  unit_->change.run_id = run.run_id();
  unit_->change.status_before = run.state().status;
}

Draft::Answer Draft::Apply(const AppendOrder& order, const RunScope& defaults) {
  if (order.rule != nullptr) return ApplyRule(order, defaults);
  const bool single =
      order.events.size() == 1 && !order.events[0].starts_run && order.events[0].entity_id != "*";
  if (single) return Place(order.events[0], defaults);

  const bool expands = std::ranges::any_of(order.events, [](const EventWrite& write) {
    return write.starts_run || write.entity_id == "*";
  });
  Result<std::vector<EventWrite>> expanded = std::vector<EventWrite>();
  if (expands) expanded = Expand(order);
  if (!expanded) return {std::move(expanded).error(), nullptr, std::nullopt};
  const std::vector<EventWrite>& writes = expands ? *expanded : order.events;
  if (empty()) {
    // Events are expensive to move, and most drafts have one order.
    unit_->change.events.reserve(writes.size());
  }
  EVERSTEP_ASSERT(undo_ == nullptr);
  Savepoint savepoint{run_.state(),
                      unit_->change.events.size(),
                      unit_->change.instance_keys.size(),
                      unit_->change.tokens.size(),
                      unit_->change.alarms.size(),
                      {}};
  savepoint.entities.reserve(writes.size());
  undo_ = &savepoint.entities;
  std::optional<Answer> first;
  bool all_duplicates = true;
  for (const EventWrite& write : writes) {
    Answer answer = Place(write, defaults);
    if (!answer.placed) {
      undo_ = nullptr;
      RollBack(std::move(savepoint));
      return answer;
    }
    all_duplicates = all_duplicates && answer.placed->duplicate;
    if (!first) {
      first = std::move(answer);
    } else {
      WaitAlsoFor(answer, *first);
    }
  }
  undo_ = nullptr;
  first->placed->duplicate = all_duplicates;
  return std::move(*first);
}

Draft::Answer Draft::ApplyRule(const AppendOrder& order, const RunScope& defaults) {
  static const EntityState kNone;
  const EntityState* entity = &kNone;
  if (const auto key = order.rule->About()) {
    auto found = run_.Entity(*key);
    if (!found) return {std::move(found).error(), nullptr, std::nullopt};
    entity = *found;
  }
  const EventWrite* mark = order.rule->Mark();
  if (mark != nullptr && entity->status != EntityStatus::kAbsent) {
    auto repeat = FindDuplicate(*mark, Resolve(run_.state(), *entity, *mark, {}));
    if (!repeat) return {std::move(repeat).error(), nullptr, std::nullopt};
    if (*repeat) {
      order.rule->Decided(run_.stored(), *entity, {});
      return std::move(**repeat);
    }
  }
  auto writes = order.rule->Decide(run_.state(), *entity);
  if (!writes) return {std::move(writes).error(), nullptr, std::nullopt};
  const std::size_t before = unit_->change.events.size();
  Answer answer{Placed{}, nullptr, std::nullopt};
  if (writes->empty()) {
    // The decision depends on the run's last event, which may be in flight or in this draft.
    answer.placed = Placed{{}, run_.state().last_seq, run_.state().updated_at, true};
    answer.earlier = run_.OnItsWay();
    if (before > 0) answer.event_index = before - 1;
  } else {
    answer = Apply({order.run_id, std::move(*writes)}, defaults);
  }
  if (answer.placed) {
    order.rule->Decided(run_.stored(), *entity, std::span(unit_->change.events).subspan(before));
  }
  return answer;
}

Result<std::vector<EventWrite>> Draft::Expand(const AppendOrder& order) {
  std::vector<EventWrite> writes;
  for (const EventWrite& write : order.events) {
    if (write.starts_run && run_.state().status == RunStatus::kAbsent && writes.empty()) {
      EventWrite start;
      start.type = EventType::kRunStarted;
      start.run_id = write.run_id;
      start.scope = write.scope;
      start.emitted_at = write.emitted_at;
      writes.push_back(std::move(start));
    }
    if (write.entity_id != "*") {
      writes.push_back(write);
      continue;
    }
    auto errors = run_.Entities(EntityKind::kError);
    if (!errors) return std::move(errors).error();
    const std::size_t before = writes.size();
    for (const auto& [key, state] : *errors) {
      if (state->status == EntityStatus::kClosed) continue;
      writes.push_back(write);
      writes.back().entity_id = key.id;
      writes.back().instance_id.clear();
    }
    if (writes.size() == before) {
      return Error{
          ErrorCode::kErrorNotOpen, "run " + write.run_id.value() + " has no open error", {}};
    }
  }
  return writes;
}

Draft::Answer Draft::Place(const EventWrite& write, const RunScope& defaults) {
  RunState& state = run_.state();
  const auto refuse = [](Error error) { return Answer{std::move(error), nullptr, std::nullopt}; };

  const Status scope =
      state.status == RunStatus::kAbsent ? AdoptScope(write, defaults) : CheckScope(write);
  if (!scope) return refuse(scope.error());
  if (write.foreign && state.status != RunStatus::kAbsent && state.engine_run_ref == kOwnEngine) {
    return refuse({ErrorCode::kRunOwnedByEngine,
                   "run " + run_.run_id().value() +
                       " is executed by the engine and accepts no external events; use signals or "
                       "hooks instead",
                   {}});
  }

  static const EntityState kNone;
  EntityState* entity = nullptr;
  if (const auto key = EntityOf(write.type, write.entity_id)) {
    auto found = run_.Entity(*key);
    if (!found) return refuse(std::move(found).error());
    entity = *found;
  }
  const EntityState& before = entity != nullptr ? *entity : kNone;

  Event event = Resolve(state, before, write, write.event_id.empty() ? NewEventId() : "");
  if (event.emitted_at == Timestamp{}) event.emitted_at = world_.now;
  if (write.key && state.status == RunStatus::kAbsent && !write.key_version) {
    const bool is_v2 =
        IdempotencyKey(KeyVersion::kV2, run_.run_id(), state.scope, event) == *write.key;
    state.key_version = is_v2 ? KeyVersion::kV2 : KeyVersion::kV1;
  }
  const Status presented = CheckPresentedKey(write, event);
  if (!presented) return refuse(presented.error());

  const auto rejection = Judge(state, before, event);
  if (rejection || MayRepeat(event, entity)) {
    auto duplicate = FindDuplicate(write, event);
    if (!duplicate) return refuse(std::move(duplicate).error());
    if (*duplicate) return std::move(**duplicate);
  }
  if (write.revisit && (rejection || event.facts.revisit)) {
    auto duplicate = FindEarlierVisit(write, event);
    if (!duplicate) return refuse(std::move(duplicate).error());
    if (*duplicate) return std::move(**duplicate);
  }
  if (rejection) return refuse({rejection->code, rejection->message, {}});

  if (event.type == EventType::kHookCreated) {
    const Status settled = SettleToken(event);
    if (!settled) return refuse(settled.error());
  }
  const std::size_t index = unit_->change.events.size();
  const Status recorded = Record(std::move(event), entity);
  if (!recorded) return refuse(recorded.error());
  return {PlaceOf(unit_->change.events[index]), nullptr, index};
}

Status Draft::AdoptScope(const EventWrite& write, const RunScope& defaults) {
  RunState& state = run_.state();
  state.scope = write.scope;
  FillEmpty(state.scope.tenant_id, defaults.tenant_id);
  FillEmpty(state.scope.project_id, defaults.project_id);
  FillEmpty(state.scope.environment_id, defaults.environment_id);
  FillEmpty(state.scope.plan_id, defaults.plan_id);
  FillEmpty(state.scope.plan_version, defaults.plan_version);
  state.key_version = write.key_version.value_or(KeyVersion::kV1);
  return Ok();
}

Status Draft::CheckScope(const EventWrite& write) const {
  const RunScope& ours = run_.state().scope;
  const RunScope& theirs = write.scope;
  std::vector<Fault> faults;
  const auto compare = [&faults](const char* pointer, const std::string& own,
                                 const std::string& given) {
    if (given.empty() || given == own) return;
    faults.push_back({pointer, "is \"" + given + "\", but the run has \"" + own + "\""});
  };
  compare("/tenantId", ours.tenant_id, theirs.tenant_id);
  compare("/projectId", ours.project_id, theirs.project_id);
  compare("/environmentId", ours.environment_id, theirs.environment_id);
  compare("/planId", ours.plan_id, theirs.plan_id);
  compare("/planVersion", ours.plan_version, theirs.plan_version);
  if (faults.empty()) return Ok();
  return Error{ErrorCode::kRunScopeMismatch,
               "the event's scope does not match that of run " + run_.run_id().value(),
               std::move(faults)};
}

Sha256Digest Draft::KeyOf(const Event& event) const {
  return IdempotencyKey(run_.state().key_version, run_.run_id(), run_.state().scope, event);
}

Status Draft::CheckPresentedKey(const EventWrite& write, const Event& event) const {
  if (!write.key || *write.key == KeyOf(event)) return Ok();
  const RunState& state = run_.state();
  const auto v1 = IdempotencyKey(KeyVersion::kV1, run_.run_id(), state.scope, event);
  const auto v2 = IdempotencyKey(KeyVersion::kV2, run_.run_id(), state.scope, event);
  if (*write.key == v1 || *write.key == v2) return Ok();
  return Error{ErrorCode::kIdempotencyKeyMismatch,
               "the idempotency key does not match the event",
               {{"/idempotencyKey", "must be " + ToHex(v1) + " (v1) or " + ToHex(v2) + " (v2)"}}};
}

Result<std::optional<Draft::Answer>> Draft::FindDuplicate(const EventWrite& write, Event event) {
  const auto& mine = unit_->change.events;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (HaveSameKey(mine[i], event)) return AnswerRepeat(write, mine[i], {nullptr, i});
  }
  auto found = run_.FindWithKeyOf(event);
  if (!found) return std::move(found).error();
  if (!*found) {
    if (event.type != EventType::kHookCreated) return std::optional<Answer>();
    // If the token was taken, the creation of the hook was recorded as a conflict.
    event.type = EventType::kHookConflict;
    return FindDuplicate(write, std::move(event));
  }
  return AnswerRepeat(write, (*found)->event, {(*found)->unit, std::nullopt});
}

Result<std::optional<Draft::Answer>> Draft::AnswerRepeat(const EventWrite& write,
                                                         const Event& existing,
                                                         Whereabouts where) const {
  Placed placed = PlaceOf(existing);
  placed.duplicate = true;
  placed.payload_mismatch =
      existing.type != EventType::kHookConflict && !SameJson(existing.payload, write.payload);
  const bool signal = SpecOf(existing.type).entity == EntityKind::kSignal;
  if (signal && placed.payload_mismatch) {
    return Error{ErrorCode::kSignalDuplicate,
                 "signal " + existing.entity_id + " was already decided with different content",
                 {}};
  }
  return std::optional(Answer{std::move(placed), std::move(where.earlier), where.event_index});
}

// If a step may run again, an order that starts another attempt, or that the rules reject, may be a
// late duplicate of an event of an earlier attempt, unless it specifies its attempt.
Result<std::optional<Draft::Answer>> Draft::FindEarlierVisit(const EventWrite& write, Event event) {
  if (write.instance_id.empty() || write.logical_attempt != 0) return std::optional<Answer>();
  while (--event.logical_attempt > 0) {
    auto duplicate = FindDuplicate(write, event);
    if (!duplicate || *duplicate) return duplicate;
  }
  return std::optional<Answer>();
}

// Reserves the hook's token. If another hook holds it, changes the event to kHookConflict.
Status Draft::SettleToken(Event& event) {
  if (!token_lock_.owns_lock()) token_lock_ = world_.tokens.Lock();
  const std::string& token = event.facts.token;
  std::optional<HookHolder> holder;
  const auto& mine = unit_->change.tokens;
  const auto decided =
      std::find_if(mine.rbegin(), mine.rend(), [&](const auto& t) { return t.token == token; });
  if (decided != mine.rend()) {
    if (decided->hook_id) {
      holder = HookHolder{run_.run_id(), *decided->hook_id, decided->kept_until};
    }
  } else {
    auto found = world_.tokens.HolderLocked(run_.state().scope.tenant_id, token);
    if (!found) return std::move(found).error();
    holder = std::move(*found);
  }
  const bool over = holder && holder->kept_until != Timestamp{} && holder->kept_until <= world_.now;
  if (!holder || over) {
    unit_->change.tokens.push_back({token, event.entity_id});
    return Ok();
  }
  event.type = EventType::kHookConflict;
  event.payload.clear();
  JsonWriter json(event.payload);
  json.BeginObject();
  json.Member("token", token);
  json.Member("conflictingRunId", holder->run_id.value());
  json.EndObject();
  return Ok();
}

Status Draft::Record(Event&& event, EntityState* entity) {
  RunState& state = run_.state();
  // Everything that can fail must come before the first modification.
  Released hooks;
  Released waits;
  if (EndsRun(event.type) && state.hooks_active > 0) {
    auto all = run_.Entities(EntityKind::kHook);
    if (!all) return std::move(all).error();
    hooks = std::move(*all);
    if (!token_lock_.owns_lock()) token_lock_ = world_.tokens.Lock();
  }
  if (EndsRun(event.type) && state.waits_open > 0) {
    auto all = run_.Entities(EntityKind::kWait);
    if (!all) return std::move(all).error();
    waits = std::move(*all);
  }
  if (event.type == EventType::kHookDisposed) {
    EVERSTEP_ASSERT(entity != nullptr && entity->status == EntityStatus::kActive);
    if (!token_lock_.owns_lock()) token_lock_ = world_.tokens.Lock();
    unit_->change.tokens.push_back({entity->token, std::nullopt});
  }

  event.seq = everstep::Next(state.last_seq);
  event.previous_of_type = state.last_of_type[static_cast<std::size_t>(event.type)];
  if (entity != nullptr) {
    event.previous_of_entity = entity->last_seq;
    Touch(*EntityOf(event.type, event.entity_id), entity);
    ChangeAlarm(event, *entity);
    Evolve(state, *entity, event);
  } else {
    EntityState none;
    Evolve(state, none, event);
  }
  EVERSTEP_ASSERT(state.last_seq == event.seq && state.status != RunStatus::kAbsent);
  Release(hooks);
  Release(waits);
  if (!event.instance_id.empty()) unit_->change.instance_keys.push_back(KeyOf(event));
  unit_->change.events.push_back(std::move(event));
  return Ok();
}

void Draft::Release(const Released& entities) {
  for (const auto& [key, entity] : entities) {
    Touch(key, entity);
    const EntityState before = *entity;
    if (!ReleaseAtRunEnd(run_.state(), key.kind, *entity)) continue;
    if (key.kind == EntityKind::kHook) {
      RunChange::Token token{before.token, std::nullopt};
      if (before.due_at > world_.now) token = {before.token, key.id, before.due_at};
      unit_->change.tokens.push_back(std::move(token));
    } else {
      unit_->change.alarms.push_back({before.due_at, key.id, false});
    }
  }
}

void Draft::ChangeAlarm(const Event& event, const EntityState& before) {
  if (event.type == EventType::kWaitCreated) {
    unit_->change.alarms.push_back({event.facts.due_at, event.entity_id, true});
  } else if (event.type == EventType::kWaitCompleted) {
    unit_->change.alarms.push_back({before.due_at, event.entity_id, false});
  }
}

void Draft::Touch(EntityKey key, EntityState* entity) {
  if (undo_ != nullptr) undo_->emplace_back(entity, *entity);
  // Search from the back, because events of an entity come together. A set would be slower.
  const auto known = std::find_if(world_.touched.rbegin(), world_.touched.rend(),
                                  [entity](const auto& other) { return other.second == entity; });
  if (known == world_.touched.rend()) world_.touched.emplace_back(std::move(key), entity);
}

void Draft::RollBack(Savepoint savepoint) {
  RunChange& change = unit_->change;
  EVERSTEP_ASSERT(undo_ == nullptr && change.events.size() >= savepoint.events);
  for (auto undo = savepoint.entities.rbegin(); undo != savepoint.entities.rend(); ++undo) {
    *undo->first = std::move(undo->second);
  }
  run_.state() = std::move(savepoint.state);
  change.events.resize(savepoint.events);
  change.instance_keys.resize(savepoint.instance_keys);
  change.tokens.resize(savepoint.tokens);
  change.alarms.resize(savepoint.alarms);
}

std::shared_ptr<CommitUnit> Draft::Finish(const std::function<RunNo()>& new_run_no) {
  EVERSTEP_ASSERT(!empty());
  EVERSTEP_ASSERT(undo_ == nullptr);
  RunChange& change = unit_->change;
  if (change.status_before == RunStatus::kAbsent) run_.stored().run_no = new_run_no();
  change.run_no = run_.stored().run_no;
  EVERSTEP_ASSERT(change.run_no != RunNo());
  EVERSTEP_ASSERT(change.events.back().seq == run_.state().last_seq);
  change.state = run_.state();
  change.state.updated_at = updated_before_;
  change.entities.reserve(world_.touched.size());
  for (auto& [key, entity] : world_.touched) {
    if (entity->status != EntityStatus::kAbsent) change.entities.emplace_back(key, *entity);
  }
  return unit_;
}

std::string Draft::NewEventId() {
  // In the same format as the run's id.
  return run_.has_uuid() ? NewUuid(world_.random) : "evnt_" + world_.ulids.Next();
}

}  // namespace everstep
