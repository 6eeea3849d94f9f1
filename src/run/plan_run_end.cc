#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/json.h"
#include "run/plan_run.h"
#include "run/run_names.h"

namespace everstep {
namespace {

using Ending = PlanProgress::Ending;

constexpr std::size_t kMessageBytesMax = 8 * 1024;

double Fraction(Random& random) { return static_cast<double>(random.Next() >> 11) * 0x1.0p-53; }

std::string Cut(std::string text) {
  if (text.size() <= kMessageBytesMax) return text;
  std::size_t end = kMessageBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text + "…";
}

void WriteUndoFailed(JsonWriter& json, const std::vector<std::string>& undo_failed) {
  if (undo_failed.empty()) return;
  json.Key("compensationFailed");
  json.BeginArray();
  for (const std::string& unit_id : undo_failed) json.String(unit_id);
  json.EndArray();
}

TaskOutcome Cancelled(std::string_view why) {
  return TaskOutcome::Failure("CANCELLED", std::string(why), false, "USER");
}

}  // namespace

TaskOutcome TaskOutcome::Success(std::string result_json) {
  TaskOutcome outcome;
  outcome.result = std::move(result_json);
  return outcome;
}

TaskOutcome TaskOutcome::Failure(std::string code, std::string message, bool can_retry,
                                 std::string category) {
  TaskOutcome outcome;
  outcome.succeeded = false;
  outcome.error_code = std::move(code);
  outcome.error_message = std::move(message);
  outcome.retryable = can_retry;
  outcome.category = std::move(category);
  return outcome;
}

void PlanRun::FinishUnit(Turn& turn, const UnitKey& key, const TaskOutcome& outcome) {
  if (!outcome.succeeded) return FailUnit(turn, key, outcome);
  const Template& outputs = progress_.plan->steps[key.step].outputs;
  if (outputs.empty() || key.role == UnitKey::Role::kUndo) {
    return CompleteUnit(turn, key, outcome);
  }
  auto result = ValueFromJson(outcome.result.empty() ? "null" : outcome.result);
  Result<Value> shaped =
      result ? outputs.Render(
                   RunNames(progress_, run_id_, scope_).ForUnit(key).WithResult(std::move(*result)))
             : std::move(result);
  if (!shaped) {
    return FailUnit(turn, key,
                    TaskOutcome::Failure("EXPRESSION_FAILED", "outputs: " + shaped.error().message,
                                         false, "USER"));
  }
  TaskOutcome short_outcome = outcome;
  short_outcome.result = ToJson(*shaped);
  CompleteUnit(turn, key, short_outcome);
}

// The attempt is over: its place in this process is free.
void PlanRun::LeaveProcess(Turn& turn, const UnitKey& key) {
  ClearDeadlines(key);
  under_way_.erase(key);
  missing_.erase(key);
  if (asked_.erase(key) > 0) turn.effects.freed_slots.push_back(key);
  if (slots_.erase(key) > 0) turn.effects.freed_slots.push_back(key);
}

void PlanRun::CompleteUnit(Turn& turn, const UnitKey& key, const TaskOutcome& outcome) {
  LeaveProcess(turn, key);
  const Unit& unit = *progress_.Find(key);
  Event event = NewEvent(turn, EventType::kStepCompleted, IdOf(key));
  event.logical_attempt = unit.logical_attempt;
  event.engine_attempt = unit.engine_attempt;
  event.facts.artifacts = outcome.artifacts;
  const auto took = std::chrono::duration_cast<Milliseconds>(turn.now - unit.attempt_at).count();
  if (took > 0 || !outcome.result.empty() || !outcome.artifacts.empty()) {
    JsonWriter json(event.payload);
    json.BeginObject();
    if (!outcome.result.empty()) json.RawMember("result", outcome.result);
    json.Key("durationMs");
    json.Int(std::max<std::int64_t>(0, took));
    if (!outcome.artifacts.empty()) json.RawMember("artifacts", outcome.artifacts);
    json.EndObject();
  }
  Emit(turn, std::move(event));
}

bool PlanRun::WillRetry(const UnitKey& key, const TaskOutcome& outcome) const {
  const bool undo = key.role == UnitKey::Role::kUndo;
  if (progress_.ending != Ending::kNone && !undo) return false;
  if (key.role == UnitKey::Role::kStep && progress_.plan->steps[key.step].foreach) return false;
  // A loop that is about to fail does not wait for further attempts.
  if (key.role == UnitKey::Role::kItem && progress_.loops.at(key.step).stopped) return false;
  const RetryPolicy& policy = ActionOf(key).retry;
  if (progress_.Find(key)->logical_attempt >= policy.attempts_max) return false;
  if (outcome.permanent) return false;
  if (policy.retry_on.empty()) return outcome.retryable;
  return std::ranges::find(policy.retry_on, outcome.error_code) != policy.retry_on.end();
}

void PlanRun::FailUnit(Turn& turn, const UnitKey& key, const TaskOutcome& outcome) {
  LeaveProcess(turn, key);
  const Unit& unit = *progress_.Find(key);
  const std::uint32_t next = unit.logical_attempt + 1;
  const bool retry = WillRetry(key, outcome);
  Timestamp due_at{};
  if (retry) {
    Milliseconds delay = ActionOf(key).retry.DelayBefore(next, Fraction(turn.random));
    if (outcome.retry_after) delay = std::max(delay, *outcome.retry_after);
    if (delay.count() > 0) due_at = std::chrono::ceil<Milliseconds>(turn.now + delay);
  }
  const std::string unit_id = IdOf(key);
  Event event = NewEvent(turn, EventType::kStepFailed, unit_id);
  event.logical_attempt = unit.logical_attempt;
  event.engine_attempt = unit.engine_attempt;
  event.facts.will_retry = retry;
  event.facts.retryable = outcome.retryable;
  event.facts.due_at = due_at;
  event.facts.error_code = outcome.error_code;
  event.facts.error_message = Cut(outcome.error_message);
  JsonWriter json(event.payload);
  json.BeginObject();
  json.Member("errorCode", outcome.error_code);
  json.Member("errorMessage", event.facts.error_message);
  json.Member("retryable", outcome.retryable);
  if (!outcome.category.empty()) json.Member("failureCategory", outcome.category);
  json.Member("willRetry", retry);
  if (due_at != Timestamp{}) json.Member("dueAt", FormatTimestamp(due_at));
  if (!outcome.details.empty()) json.RawMember("details", outcome.details);
  json.EndObject();
  Emit(turn, std::move(event));
  if (due_at != Timestamp{}) EmitWait(turn, PurposeId("retry", unit_id, next), due_at);
}

// ---- the end of the run, when it is not success

// The record begins the end of the run, so that a restart goes on with it.
void PlanRun::FailOutputs(Turn& turn, const Error& error) {
  Event event = NewEvent(turn, EventType::kErrorRecorded, std::string(Name(error.code)));
  JsonWriter json(event.payload);
  json.BeginObject();
  json.Member("message", Cut("outputs: " + error.message));
  json.RawMember("details", R"({"source":"outputs"})");
  json.EndObject();
  Emit(turn, std::move(event));
}

bool PlanRun::AdvanceEnding(Turn& turn) {
  if (!IsEnding()) return false;
  WithdrawAsks(turn);
  if (progress_.ending == Ending::kFailing && AdvanceDoomed(turn)) return true;
  if (!waiting_stopped_) {
    StopWaiting(turn);
    return true;
  }
  if (StopLoops(turn)) return true;
  if (stops_sent_ == 0) StopTools(turn, false);
  if (!progress_.running.empty()) return false;
  return AdvanceUndo(turn);
}

// Steps that asked for a slot do not get one any more.
void PlanRun::WithdrawAsks(Turn& turn) {
  for (auto key = asked_.begin(); key != asked_.end();) {
    if (OutlivesEnding(*key)) {
      ++key;
      continue;
    }
    turn.effects.freed_slots.push_back(*key);
    key = asked_.erase(key);
  }
}

// What waits for time or an answer ends now, and what was lost with its process.
void PlanRun::StopWaiting(Turn& turn) {
  const std::set<UnitKey> running = progress_.running;
  for (const UnitKey& key : running) {
    const PlanStep& step = progress_.plan->steps[key.step];
    if (OutlivesEnding(key) || under_way_.contains(key)) continue;
    if (IsTool(key)) {
      FailUnit(turn, key, Cancelled("it was lost with its process"));
    } else if (step.wait_for && !(step.foreach && key.role == UnitKey::Role::kStep)) {
      LetGo(turn, key);
      FailUnit(turn, key, Cancelled("the run is ending"));
    }
  }
  waiting_stopped_ = true;
}

// Loops whose items have all ended.
bool PlanRun::StopLoops(Turn& turn) {
  const auto idle = std::ranges::find_if(progress_.loops_open, [this](StepIndex step) {
    return progress_.loops.at(step).running == 0;
  });
  if (idle == progress_.loops_open.end()) return false;
  FailUnit(turn, {*idle}, Cancelled("the run is ending"));
  return true;
}

void PlanRun::StopTools(Turn& turn, bool force) {
  if (stops_sent_ == 0) stops_sent_at_ = turn.now;
  stops_sent_ = force ? 2 : 1;
  for (const auto& [key, delivery] : under_way_) {
    if (OutlivesEnding(key)) continue;
    const Unit& unit = *progress_.Find(key);
    turn.effects.stop.push_back(
        {{run_id_, IdOf(key), unit.logical_attempt, unit.engine_attempt}, force});
  }
  for (const auto& [child_id, child] : progress_.children) {
    turn.effects.cancel_children.push_back(RunId(child_id));
  }
}

// They were told to stop, and forced, and still do not report.
void PlanRun::GiveUpOnTools(Turn& turn) {
  stops_sent_ = 3;
  const std::map<UnitKey, Delivery> silent = under_way_;
  for (const auto& [key, delivery] : silent) {
    if (OutlivesEnding(key)) continue;
    FailUnit(turn, key, Cancelled("it did not stop when told to"));
  }
}

// An attempt that was decided about: what it has outside is told to stop.
void PlanRun::LetGo(Turn& turn, const UnitKey& key) {
  const Unit& unit = *progress_.Find(key);
  const std::string unit_id = IdOf(key);
  if (under_way_.contains(key)) {
    turn.effects.stop.push_back(
        {{run_id_, unit_id, unit.logical_attempt, unit.engine_attempt}, true});
  }
  const std::string hook_id = PurposeId("hook", unit_id, unit.logical_attempt);
  if (progress_.hooks.contains(hook_id)) {
    Emit(turn, NewEvent(turn, EventType::kHookDisposed, hook_id));
  }
  RunId child_id = ChildIdOf(key);
  if (progress_.children.contains(child_id.value())) {
    turn.effects.cancel_children.push_back(std::move(child_id));
  }
}

bool PlanRun::AdvanceUndo(Turn& turn) {
  if (undo_next_ > progress_.succeeded.size()) undo_next_ = progress_.succeeded.size();
  while (undo_next_ > 0) {
    const UnitKey& done = progress_.succeeded[undo_next_ - 1];
    const UnitKey key{done.step, UnitKey::Role::kUndo, done.item};
    const Unit* unit = progress_.Find(key);
    if (unit != nullptr) {
      const bool over = unit->status == EntityStatus::kSuccess ||
                        unit->status == EntityStatus::kSkipped ||
                        (unit->status == EntityStatus::kFailed && !unit->will_retry);
      if (over) {
        --undo_next_;
        continue;
      }
      if (unit->status == EntityStatus::kFailed && !progress_.retry_ready.contains(key)) {
        return false;  // its backoff
      }
    }
    if (missing_.contains(key) || asked_.contains(key) || !turn.may_start) return false;
    if (status() == RunStatus::kPaused) {
      Emit(turn, NewEvent(turn, EventType::kRunResumed, {}));
    } else {
      StartUnit(turn, key, false);
    }
    return true;
  }
  EndRun(turn);
  return true;
}

void PlanRun::EndRun(Turn& turn) {
  if (progress_.ending == Ending::kCancelling) {
    Event event = NewEvent(turn, EventType::kRunCancelled, {});
    JsonWriter json(event.payload);
    json.BeginObject();
    if (!progress_.ending_signal.empty()) json.Member("signalId", progress_.ending_signal);
    if (!progress_.ending_message.empty()) json.Member("reason", progress_.ending_message);
    WriteUndoFailed(json, progress_.undo_failed);
    json.EndObject();
    return Emit(turn, std::move(event));
  }
  Event event = NewEvent(turn, EventType::kRunFailed, {});
  event.facts.error_code = progress_.ending_code;
  event.facts.error_message = Cut(progress_.ending_message);
  JsonWriter json(event.payload);
  json.BeginObject();
  json.Member("errorCode", progress_.ending_code);
  json.Member("errorMessage", event.facts.error_message);
  if (!progress_.ending_step.empty()) json.Member("failureSource", progress_.ending_step);
  WriteUndoFailed(json, progress_.undo_failed);
  json.EndObject();
  Emit(turn, std::move(event));
}

}  // namespace everstep
