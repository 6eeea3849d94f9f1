#include "testing/reference_log.h"

#include <algorithm>

#include "event/catalogue.h"
#include "event/idempotency_key.h"
#include "testing/reference_rules.h"

namespace everstep {
namespace {

using enum EventType;
using Run = ReferenceLog::Run;
using Thing = ReferenceLog::Thing;

Sha256Digest KeyOf(const Run& run, const RunId& run_id, const Event& event) {
  std::string_view instance = event.instance_id.empty() ? event.entity_id : event.instance_id;
  if (SpecOf(event.type).entity == EntityKind::kRun) instance = "RUN";
  return IdempotencyKey(run.key_version,
                        {run_id.value(), instance, event.logical_attempt, SpecOf(event.type).name,
                         run.scope.plan_id, run.scope.plan_version});
}

bool IsOwnId(const Event& event) {
  return event.event_id.empty() && event.instance_id == event.entity_id + "/";
}

void Adopt(Run& run, const EventWrite& write, const RunScope& defaults) {
  const auto pick = [](const std::string& own, const std::string& other) {
    return own.empty() ? other : own;
  };
  run.scope = {pick(write.scope.tenant_id, defaults.tenant_id),
               pick(write.scope.project_id, defaults.project_id),
               pick(write.scope.environment_id, defaults.environment_id),
               pick(write.scope.plan_id, defaults.plan_id),
               pick(write.scope.plan_version, defaults.plan_version)};
  run.key_version = write.key_version.value_or(KeyVersion::kV1);
}

bool BelongsElsewhere(const RunScope& run, const RunScope& write) {
  const auto differs = [](const std::string& own, const std::string& given) {
    return !given.empty() && given != own;
  };
  return differs(run.tenant_id, write.tenant_id) || differs(run.project_id, write.project_id) ||
         differs(run.environment_id, write.environment_id) || differs(run.plan_id, write.plan_id) ||
         differs(run.plan_version, write.plan_version);
}

// One order may imply several events: the start of its run, or one per open error if the code means
// all.
std::vector<EventWrite> Expand(const Run& run, const AppendOrder& order) {
  std::vector<EventWrite> writes;
  for (const EventWrite& write : order.events) {
    if (write.starts_run && run.status == RunStatus::kAbsent && writes.empty()) {
      EventWrite start;
      start.type = kRunStarted;
      start.scope = write.scope;
      writes.push_back(start);
    }
    if (write.entity_id != "*") {
      writes.push_back(write);
      continue;
    }
    const std::size_t before = writes.size();
    for (const auto& [key, thing] : run.things) {
      if (key.kind != EntityKind::kError || thing.status == EntityStatus::kClosed) continue;
      writes.push_back(write);
      writes.back().entity_id = key.id;
      writes.back().instance_id.clear();
    }
    if (writes.size() == before) return {};
  }
  return writes;
}

}  // namespace

std::uint64_t ReferenceLog::Run::Count(EntityKind kind, EntityStatus wanted) const {
  return static_cast<std::uint64_t>(std::count_if(things.begin(), things.end(), [&](const auto& t) {
    return t.first.kind == kind && t.second.status == wanted;
  }));
}

const ReferenceLog::Run* ReferenceLog::Find(const RunId& run_id) const {
  const auto found = runs_.find(run_id);
  return found == runs_.end() ? nullptr : found->second.get();
}

std::optional<std::pair<RunId, std::string>> ReferenceLog::HolderOf(std::string_view tenant_id,
                                                                    std::string_view token) const {
  for (const auto& [run_id, run] : runs_) {
    if (run->scope.tenant_id != tenant_id) continue;
    for (const auto& [key, thing] : run->things) {
      if (key.kind != EntityKind::kHook || thing.status != EntityStatus::kActive) continue;
      if (thing.token == token) return std::pair(run_id, key.id);
    }
  }
  return std::nullopt;
}

ReferenceLog::Answer ReferenceLog::Append(const AppendOrder& order, const RunScope& defaults) {
  Answer answer;
  const auto known = runs_.find(order.run_id);
  const std::shared_ptr<const Run> before = known == runs_.end() ? nullptr : known->second;
  const auto refuse = [&](ErrorCode code) {
    if (before) {
      runs_[order.run_id] = before;
    } else {
      runs_.erase(order.run_id);
    }
    answer.refused = code;
    return answer;
  };
  if (before) {
    answer.incarnation = before->incarnation;
    answer.events_before = before->events.size();
  } else if (tombstones_.contains(order.run_id)) {
    return refuse(ErrorCode::kRunExpired);
  }
  const auto run = std::make_shared<Run>(before ? *before : Run{});
  const std::vector<EventWrite> writes = Expand(*run, order);
  if (writes.empty()) return refuse(ErrorCode::kErrorNotOpen);
  // Inserted before it changes, so that token lookups include its own tokens.
  runs_[order.run_id] = run;
  for (const EventWrite& write : writes) {
    Answer placed;
    EventWrite own = write;
    own.run_id = order.run_id;
    if (const auto refused = Place(*run, own, defaults, placed)) return refuse(*refused);
    const bool is_first = &write == writes.data();
    if (is_first) {
      answer.seq = placed.seq;
      answer.payload_mismatch = placed.payload_mismatch;
    }
    const bool implied = is_first && before == nullptr && order.events.front().starts_run;
    if (!implied) answer.new_events += placed.new_events;
  }
  if (!before) run->incarnation = answer.incarnation = ++incarnations_;
  return answer;
}

std::optional<ErrorCode> ReferenceLog::Place(Run& run, const EventWrite& write,
                                             const RunScope& defaults, Answer& answer) {
  if (run.status == RunStatus::kAbsent) {
    Adopt(run, write, defaults);
  } else if (BelongsElsewhere(run.scope, write.scope)) {
    return ErrorCode::kRunScopeMismatch;
  }
  const EntityKey name{SpecOf(write.type).entity, write.entity_id};
  const auto known = run.things.find(name);
  const Thing before = known == run.things.end() ? Thing{} : known->second;
  Event event = reference::EventOf(run, before, write);

  std::vector<Event> same = {event};
  if (event.type == kHookCreated) {
    same.push_back(event);
    same.back().type = kHookConflict;
  }
  for (const Event& candidate : same) {
    const auto found = run.by_key.find(KeyOf(run, write.run_id, candidate));
    if (found == run.by_key.end() || IsOwnId(candidate)) continue;
    const Event& existing = run.events[found->second];
    answer.seq = existing.seq;
    answer.payload_mismatch = existing.type != kHookConflict && existing.payload != write.payload;
    const bool signal = SpecOf(existing.type).entity == EntityKind::kSignal;
    if (signal && answer.payload_mismatch) return ErrorCode::kSignalDuplicate;
    return std::nullopt;
  }

  const auto refused = reference::Judge(run, before, event);
  if (write.revisit && (refused || event.facts.revisit) && write.logical_attempt == 0 &&
      !write.instance_id.empty()) {
    // It may be a late duplicate of an event in an earlier attempt.
    for (Event earlier = event; --earlier.logical_attempt > 0;) {
      const auto found = run.by_key.find(KeyOf(run, write.run_id, earlier));
      if (found == run.by_key.end()) continue;
      const Event& existing = run.events[found->second];
      answer.seq = existing.seq;
      answer.payload_mismatch = existing.payload != write.payload;
      return std::nullopt;
    }
  }
  if (refused) return refused;
  if (event.type == kHookCreated) {
    if (const auto holder = HolderOf(run.scope.tenant_id, event.facts.token)) {
      event.type = kHookConflict;
      event.payload = R"({"token":")" + event.facts.token + R"(","conflictingRunId":")" +
                      holder->first.value() + R"("})";
    }
  }
  reference::Apply(run, event);
  event.seq = answer.seq = EventSeq(run.events.size() + 1);
  answer.new_events = 1;
  if (!IsOwnId(event)) run.by_key.emplace(KeyOf(run, write.run_id, event), run.events.size());
  run.events.push_back(std::move(event));
  return std::nullopt;
}

std::size_t ReferenceLog::Purge(std::span<const RunId> runs, Timestamp now, Timestamp expired) {
  std::erase_if(tombstones_, [&](const auto& tombstone) { return tombstone.second < expired; });
  std::size_t removed = 0;
  for (const RunId& run_id : runs) {
    const Run* run = Find(run_id);
    if (run == nullptr || !reference::HasEnded(*run)) continue;
    runs_.erase(run_id);
    tombstones_[run_id] = now;
    ++removed;
  }
  return removed;
}

}  // namespace everstep
