#include "run/logged_backend.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "engine/order_rule.h"

namespace everstep {
namespace {

constexpr std::string_view kPauseRequested = "PAUSE_REQUESTED";
constexpr std::string_view kResumeRequested = "RESUME_REQUESTED";

std::string Lasting(const RunState& run) { return "the run is " + std::string(Name(run.status)); }

EventSeq LastOf(const RunState& run, EventType type) {
  return run.last_of_type[static_cast<std::size_t>(type)];
}

// The pause or resume that was accepted last, if it has not been confirmed; empty: none.
Result<std::string_view> RequestOf(StateReader& reader, const StoredRun& run) {
  constexpr std::size_t kSignalsPerRead = 32;
  const EventSeq confirmed =
      std::max(LastOf(run.state, EventType::kRunPaused), LastOf(run.state, EventType::kRunResumed));
  EventQuery query{.after = confirmed, .limit = kSignalsPerRead, .newest_first = true};
  query.type = EventType::kSignalAccepted;
  if (LastOf(run.state, EventType::kSignalAccepted) <= confirmed) return std::string_view();
  while (true) {
    const auto signals = reader.ReadEvents(run, query);
    if (!signals) return signals.error();
    for (const Event& signal : *signals) {
      const auto type = RawMember(signal.payload, "signalType");
      if (type == R"("PAUSE")" && run.state.status == RunStatus::kRunning) return kPauseRequested;
      if (type == R"("RESUME")" && run.state.status == RunStatus::kPaused) return kResumeRequested;
      if (type == R"("PAUSE")" || type == R"("RESUME")") return std::string_view();
    }
    if (signals->size() < kSignalsPerRead) return std::string_view();
    query.until = EventSeq(signals->back().seq.value() - 1);
  }
}

// Decides a signal on the current state of the run, as part of the append.
class DecidedSignal final : public OrderRule {
 public:
  // `requested`: see RequestOf. `confirms`: a pause takes effect with the decision.
  DecidedSignal(const SignalRequest& request, const SignalVerdict& verdict,
                std::string_view requested, bool confirms, Timestamp now, Random& random)
      : request_(request),
        verdict_(verdict),
        requested_(requested),
        confirms_(confirms),
        now_(now),
        random_(random) {}

  std::optional<EntityKey> About() const override {
    return EntityKey{EntityKind::kSignal, verdict_.order.signal_id};
  }
  const EventWrite* Mark() const override { return nullptr; }

  Result<std::vector<EventWrite>> Decide(const RunState& run, const EntityState& known) override {
    decision_ = {
        verdict_.order.signal_id, verdict_.decision, verdict_.code, verdict_.reason, false, {}, 0};
    if (run.status == RunStatus::kAbsent || run.scope.tenant_id != request_.tenant_id) {
      return Error{ErrorCode::kRunNotFound, "there is no run " + request_.run_id, {}};
    }
    if (known.status != EntityStatus::kAbsent) {
      decision_.decision = known.status == EntityStatus::kAccepted ? "ACCEPTED" : "REJECTED";
      decision_.repeated = true;
      decision_.run_seq = known.first_seq.value();
      return std::vector<EventWrite>();
    }
    const bool escalates = verdict_.order.type == "ESCALATE_ALERT";
    if (IsTerminal(run.status) && !(escalates && verdict_.allowed)) {
      return Error{ErrorCode::kRunTerminal, Lasting(run), {}};
    }
    decision_.run_seq = run.last_seq.value() + 1;
    if (!verdict_.allowed) return Rejected(verdict_.order.record);
    std::vector<EventWrite> writes = {
        Write(EventType::kSignalAccepted, verdict_.order.signal_id, verdict_.order.record)};
    writes[0].facts.escalation = escalates;
    const auto refusal = Effect(run, writes);
    if (!refusal) return writes;
    decision_.decision = "REJECTED";
    decision_.code = Name(refusal->code);
    decision_.reason = refusal->message;
    return Rejected(RejectedRecord(request_, verdict_.order, *refusal, now_, random_));
  }
  void Decided(const StoredRun&, const EntityState&, std::span<const Event>) override {}

  const SignalDecision& decision() const { return decision_; }

 private:
  EventWrite Write(EventType type, std::string entity_id, std::string payload) const {
    EventWrite write;
    write.type = type;
    write.run_id = RunId(request_.run_id);
    write.entity_id = std::move(entity_id);
    write.emitted_by = request_.actor.id;
    write.payload = std::move(payload);
    return write;
  }
  std::vector<EventWrite> Rejected(std::string record) const {
    return {Write(EventType::kSignalRejected, verdict_.order.signal_id, std::move(record))};
  }
  std::string Because() const {
    std::string payload;
    JsonWriter json(payload);
    json.BeginObject();
    json.Member("signalId", verdict_.order.signal_id);
    if (!verdict_.order.reason.empty()) json.Member("reason", verdict_.order.reason);
    json.EndObject();
    return payload;
  }
  std::optional<OrderRefusal> Effect(const RunState& run, std::vector<EventWrite>& writes) const {
    const std::string& type = verdict_.order.type;
    if (type == "ESCALATE_ALERT") return std::nullopt;
    if (type == "CANCEL" || type == "EMERGENCY_STOP") {
      writes.push_back(Write(EventType::kRunCancelled, {}, Because()));
      return std::nullopt;
    }
    if (type == "PAUSE" || type == "RESUME") {
      const bool pauses = type == "PAUSE";
      const std::string_view same = pauses ? kPauseRequested : kResumeRequested;
      const std::string_view opposite = pauses ? kResumeRequested : kPauseRequested;
      if (requested_ == same) {
        return OrderRefusal{ErrorCode::kInvalidTransition,
                            type + " has been requested and is not confirmed yet"};
      }
      if (requested_ == opposite) return std::nullopt;  // it takes that request back
      const RunStatus needed = pauses ? RunStatus::kRunning : RunStatus::kPaused;
      if (run.status != needed) {
        return OrderRefusal{ErrorCode::kInvalidTransition,
                            Lasting(run) + "; it must be " + std::string(Name(needed))};
      }
      if (!confirms_) return std::nullopt;
      const auto event = pauses ? EventType::kRunPaused : EventType::kRunResumed;
      writes.push_back(Write(event, {}, Because()));
      return std::nullopt;
    }
    return OrderRefusal{ErrorCode::kCapabilityNotSupported,
                        "the steps of this run are decided by " + run.engine_run_ref +
                            "; it accepts only PAUSE, RESUME, CANCEL, EMERGENCY_STOP and "
                            "ESCALATE_ALERT"};
  }

  const SignalRequest& request_;
  const SignalVerdict& verdict_;
  const std::string_view requested_;
  const bool confirms_;
  const Timestamp now_;
  Random& random_;
  SignalDecision decision_;
};

std::optional<SystemTime> TimeOf(Timestamp time) {
  if (time == Timestamp{}) return std::nullopt;
  return time;
}

std::string StatusOf(const EntityState& step) {
  if (step.status == EntityStatus::kFailed && step.will_retry) return "RETRYING";
  return std::string(Name(step.status));
}

// What an open step, hook or wait of the run waits for; nothing if it is not open.
std::optional<Blocker> BlockerOf(const EntityKey& key, const EntityState& entity) {
  Blocker blocker;
  blocker.subject = key.id;
  blocker.cause_seq = entity.last_seq.value();
  switch (entity.status) {
    case EntityStatus::kActive:
      blocker.kind = "hook";
      blocker.message = "hook " + key.id + " waits for a delivery with token " + entity.token;
      return blocker;
    case EntityStatus::kWaiting:
      blocker.kind = "timer";
      blocker.message = "wait " + key.id + " ends at " + FormatTimestamp(entity.due_at);
      blocker.wakes_at = TimeOf(entity.due_at);
      return blocker;
    case EntityStatus::kRunning:
      blocker.kind = "step";
      blocker.message = "step " + key.id + " is running, start " + std::to_string(entity.starts);
      return blocker;
    case EntityStatus::kFailed:
      if (!entity.will_retry) return std::nullopt;
      blocker.kind = "retry";
      blocker.message = "step " + key.id + " failed and will be retried";
      blocker.wakes_at = TimeOf(entity.due_at);
      return blocker;
    default:
      return std::nullopt;
  }
}

// `requested`: see RequestOf.
Blocker PauseBlocker(const StoredRun& run, std::string_view requested) {
  Blocker blocker;
  blocker.kind = "pause";
  blocker.subject = run.run_id.value();
  if (requested.empty()) {
    blocker.message = "the run is paused; it gets no work";
    blocker.cause_seq = LastOf(run.state, EventType::kRunPaused).value();
    blocker.remedy = "everstep signal " + run.run_id.value() + " RESUME";
  } else {
    blocker.message = std::string(requested == kPauseRequested ? "a pause" : "a resume") +
                      " was requested; " + run.state.engine_run_ref + " has not confirmed it";
    blocker.cause_seq = LastOf(run.state, EventType::kSignalAccepted).value();
  }
  return blocker;
}

}  // namespace

Result<SignalDecision> LoggedBackend::Signal(const SignalRequest& request,
                                             const SignalVerdict& verdict) {
  const RunId run_id(request.run_id);
  std::string_view requested;
  if (pauses_ == Pauses::kRequested) {
    const auto reader = parts_.store.Read();
    const auto run = reader->FindRun(run_id);
    if (!run) return run.error();
    const auto found = *run ? RequestOf(*reader, **run) : std::string_view();
    if (!found) return found.error();
    requested = *found;
  }
  DecidedSignal rule(request, verdict, requested, pauses_ == Pauses::kAtOnce, parts_.clock.Now(),
                     parts_.random);
  const AppendOrder order{run_id, {}, &rule};
  const auto placed = parts_.authority.Await(parts_.authority.Submit(std::span(&order, 1), {}));
  if (!placed[0]) return placed[0].error();
  return rule.decision();
}

Result<std::string> LoggedBackend::Deliver(const StoredRun& run, const HookHolder& hook,
                                           const HookDelivery&) {
  return Error{ErrorCode::kCapabilityNotSupported,
               "hook " + hook.hook_id + " belongs to run " + run.run_id.value() +
                   ", which is decided by " + run.state.engine_run_ref +
                   "; that is not connected here, so deliver to it directly",
               {}};
}

Result<Explanation> LoggedBackend::Why(const StoredRun& run) {
  const auto reader = parts_.store.Read();
  const RunState& state = run.state;
  Explanation why{run.run_id.value(), std::string(Name(state.status)), {}, {}, {}};
  if (IsTerminal(state.status)) {
    why.summary = "the run is " + why.status;
    if (!state.error_code.empty()) why.summary += ": " + state.error_code;
    return why;
  }
  const auto requested = RequestOf(*reader, run);
  if (!requested) return requested.error();
  why.substatus = *requested;
  if (!requested->empty() || state.status == RunStatus::kPaused) {
    why.blockers.push_back(PauseBlocker(run, *requested));
  }
  const auto visit = [&why](const EntityKey& key, const EntityState& entity) {
    if (auto blocker = BlockerOf(key, entity)) why.blockers.push_back(*std::move(blocker));
  };
  for (const EntityKind kind : {EntityKind::kStep, EntityKind::kHook, EntityKind::kWait}) {
    const Status visited = reader->VisitEntities(run.run_no, kind, visit);
    if (!visited) return visited.error();
  }
  if (why.blockers.empty()) {
    const bool pending = state.status == RunStatus::kPending;
    why.blockers.push_back({"worker",
                            state.scope.plan_id,
                            pending ? "no application has begun the run; it may not be connected"
                                    : "waits for the application that executes the run",
                            state.last_seq.value(),
                            {},
                            {}});
  }
  why.summary = why.blockers.front().message;
  return why;
}

Result<RunView> LoggedBackend::View(const StoredRun& run) {
  const auto reader = parts_.store.Read();
  const RunState& state = run.state;
  RunView view;
  view.run_id = run.run_id.value();
  view.plan_id = state.scope.plan_id;
  view.plan_version = state.scope.plan_version;
  view.status = Name(state.status);
  const auto requested = RequestOf(*reader, run);
  if (!requested) return requested.error();
  view.substatus = *requested;
  const bool drains = state.status == RunStatus::kPaused && state.steps_running > 0;
  if (view.substatus.empty() && drains) view.substatus = "DRAINING";
  view.last_event_seq = state.last_seq.value();
  view.started_at = TimeOf(state.started_at);
  view.completed_at = TimeOf(state.completed_at);
  view.error_code = state.error_code;
  view.error_message = state.error_message;
  std::vector<std::pair<EventSeq, StepView>> steps;
  const Status visited = reader->VisitEntities(
      run.run_no, EntityKind::kStep, [&](const EntityKey& key, const EntityState& state_of) {
        StepView step;
        step.step_id = key.id;
        step.status = StatusOf(state_of);
        step.logical_attempt = std::max(1U, state_of.starts);
        step.attempts_max = 0;
        step.engine_attempt = state_of.engine_attempt;
        step.started_at = TimeOf(state_of.started_at);
        step.completed_at = TimeOf(state_of.completed_at);
        step.wakes_at = TimeOf(state_of.due_at);
        step.error_code = state_of.error_code;
        step.error_message = state_of.error_message;
        steps.emplace_back(state_of.first_seq, std::move(step));
      });
  if (!visited) return visited.error();
  std::ranges::sort(steps, {}, [](const auto& step) { return step.first; });
  for (auto& [seq, step] : steps) {
    // The first event of the step contains its name.
    const auto events =
        reader->ReadEvents(run, {.after = EventSeq(seq.value() - 1), .until = seq, .limit = 1});
    if (!events) return events.error();
    if (!events->empty()) {
      const auto name = RawMember(events->front().payload, "stepName");
      if (name && name->size() > 2) step.name = name->substr(1, name->size() - 2);
    }
    view.steps.push_back(std::move(step));
  }
  return view;
}

}  // namespace everstep
