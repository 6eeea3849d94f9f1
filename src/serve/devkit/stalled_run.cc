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

constexpr std::size_t kStartsMax = 64;

// The id of the message that the event names as the owner of its step; empty if there is none.
std::string OwnerIn(const Event& started) {
  if (started.payload.empty()) return {};
  const auto quoted = RawMember(started.payload, "ownerMessageId");
  if (!quoted || quoted->size() < 2) return {};
  const std::string id(quoted->substr(1, quoted->size() - 2));
  return IsMessageId(id) ? id : std::string();
}

// The id of the message whose handler last started a step that is running; empty if the step was
// started otherwise, or is not among those that were started last.
std::string OwnerOfRunningStep(StateReader& reader, const StoredRun& run) {
  const auto starts = reader.ReadEvents(
      run, {.type = EventType::kStepStarted, .limit = kStartsMax, .newest_first = true});
  if (!starts) return {};
  for (const Event& start : *starts) {
    const auto step = reader.FindEntity(run.run_no, {EntityKind::kStep, start.entity_id});
    const bool runs = step && *step && (*step)->status == EntityStatus::kRunning &&
                      (*step)->last_seq == start.seq;
    if (runs) return OwnerIn(start);
  }
  return {};
}

}  // namespace

std::optional<NewMessage> WakeStalledRun(StateReader& reader, const std::string& tenant_id,
                                         const RunId& run_id, bool has_later) {
  const auto run = reader.FindRun(run_id);
  if (!run || !*run || (*run)->state.scope.tenant_id != tenant_id) return std::nullopt;
  const RunState& state = (*run)->state;
  if (SpecOf(state) == 0 || IsTerminal(state.status)) return std::nullopt;
  const bool has_step =
      state.steps_total > state.steps_succeeded + state.steps_failed + state.steps_skipped;
  const bool has_wait = state.waits_open > 0;
  const bool has_hook = state.hooks_active > 0;
  const bool stalled = has_step || (!has_later && (has_wait || !has_hook));
  if (!stalled) return std::nullopt;
  NewMessage message = ReplayMessage(**run);
  if (state.steps_running > 0) message.id = OwnerOfRunningStep(reader, **run);
  return message;
}

}  // namespace everstep
