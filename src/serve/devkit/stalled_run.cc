#include "serve/devkit/stalled_run.h"

#include "base/json.h"
#include "serve/devkit/world_order.h"

namespace everstep {

NewMessage ReplayMessage(const StoredRun& run) {
  NewMessage message;
  message.tenant_id = run.state.scope.tenant_id;
  message.topic = FlowTopicOf(run.state);
  message.group = run.run_id.value();
  message.body = "{\"runId\":" + JsonQuote(run.run_id.value()) + "}";
  return message;
}

namespace {

// The id of the message whose handler last started the step; empty if it was started otherwise.
std::string OwnerOf(StateReader& reader, const StoredRun& run, EventSeq started) {
  const auto events = reader.ReadEvents(
      run, {.after = EventSeq(started.value() - 1), .until = started, .limit = 1});
  if (!events || events->empty() || events->front().type != EventType::kStepStarted) return {};
  const std::string& payload = events->front().payload;
  if (payload.empty()) return {};
  const auto quoted = RawMember(payload, "ownerMessageId");
  if (!quoted || quoted->size() < 2) return {};
  const std::string id(quoted->substr(1, quoted->size() - 2));
  return IsMessageId(id) ? id : std::string();
}

}  // namespace

std::optional<NewMessage> WakeStalledRun(StateReader& reader, const std::string& tenant_id,
                                         const RunId& run_id, bool has_later) {
  const auto run = reader.FindRun(run_id);
  if (!run || !*run || (*run)->state.scope.tenant_id != tenant_id) return std::nullopt;
  const RunState& state = (*run)->state;
  if (SpecOf(state) == 0 || IsTerminal(state.status)) return std::nullopt;
  bool has_step = false;
  bool has_wait = false;
  bool has_hook = false;
  EventSeq running;  // the start of a running step
  const auto look = [&](const EntityKey& key, const EntityState& entity) {
    has_step |= key.kind == EntityKind::kStep && (entity.status == EntityStatus::kPending ||
                                                  entity.status == EntityStatus::kRunning);
    if (key.kind == EntityKind::kStep && entity.status == EntityStatus::kRunning) {
      running = entity.last_seq;
    }
    has_wait |= key.kind == EntityKind::kWait && entity.status == EntityStatus::kWaiting;
    has_hook |= key.kind == EntityKind::kHook && entity.status == EntityStatus::kActive;
  };
  for (const EntityKind kind : {EntityKind::kStep, EntityKind::kWait, EntityKind::kHook}) {
    if (!reader.VisitEntities((*run)->run_no, kind, look)) return std::nullopt;
  }
  const bool stalled = has_step || (!has_later && (has_wait || !has_hook));
  if (!stalled) return std::nullopt;
  NewMessage message = ReplayMessage(**run);
  if (running != EventSeq()) message.id = OwnerOf(reader, **run, running);
  return message;
}

}  // namespace everstep
