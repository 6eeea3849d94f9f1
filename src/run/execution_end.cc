// How attempts end, and how a run ends that does not succeed.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/json.h"
#include "run/execution.h"
#include "run/turn_commands.h"

namespace everstep {
namespace {

using Ending = RunProgress::Ending;

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
  for (const std::string& activity_id : undo_failed) json.String(activity_id);
  json.EndArray();
}

TaskOutcome Cancelled(std::string_view why) {
  return TaskOutcome::Failure("CANCELLED", std::string(why), false, "USER");
}

bool Matches(const RetryRule& rule, const TaskOutcome& outcome) {
  if (rule.error_codes.empty()) return outcome.retryable;
  return std::ranges::find(rule.error_codes, outcome.error_code) != rule.error_codes.end();
}

std::uint32_t RetriesBy(const Activity& activity, std::size_t rule) {
  return rule < activity.retries.size() ? activity.retries[rule] : 0;
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

void Execution::Finish(Turn& turn, ActivityNo no, const TaskOutcome& outcome) {
  if (!outcome.succeeded) return FailActivity(turn, no, outcome);
  auto result = program_->ResultOf(no, outcome.result);
  if (!result) {
    return FailActivity(turn, no,
                        TaskOutcome::Failure(std::string(Name(result.error().code)),
                                             result.error().message, false, "USER"));
  }
  TaskOutcome recorded = outcome;
  recorded.result = *std::move(result);
  CompleteActivity(turn, no, recorded);
}

// The attempt is over: its place in this process is free.
void Execution::LeaveProcess(Turn& turn, ActivityNo no) {
  ClearDeadlines(no);
  ForgetHeartbeat(no);
  EVERSTEP_ASSERT(!(asked_.contains(no) && slots_.contains(no)));
  cancelled_.erase(no);
  under_way_.erase(no);
  missing_.erase(no);
  if (ForgetRequest(no)) turn.effects.freed_slots.push_back(IdOf(no));
  if (slots_.erase(no) > 0) turn.effects.freed_slots.push_back(IdOf(no));
}

void Execution::CompleteActivity(Turn& turn, ActivityNo no, const TaskOutcome& outcome) {
  EVERSTEP_ASSERT(outcome.succeeded);
  LeaveProcess(turn, no);
  const Activity& activity = at(no);
  EVERSTEP_ASSERT(activity.running());
  Event event = NewEvent(turn, EventType::kStepCompleted, activity.id);
  event.logical_attempt = activity.logical_attempt;
  event.engine_attempt = activity.engine_attempt;
  event.facts.artifacts = outcome.artifacts;
  const auto took =
      std::chrono::duration_cast<Milliseconds>(turn.now - activity.attempt_at).count();
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
  EVERSTEP_ASSERT(at(no).status == EntityStatus::kSuccess);
}

std::optional<std::size_t> Execution::RetryRuleFor(ActivityNo no,
                                                   const TaskOutcome& outcome) const {
  if (state_.run.is_ending() && !program_->IsCompensation(no)) return std::nullopt;
  if (cancelled_.contains(no)) return std::nullopt;
  const ActivitySpec& spec = program_->SpecOf(no);
  if (outcome.permanent || at(no).logical_attempt >= spec.attempts_max) return std::nullopt;
  if (!program_->MayRetry(no)) return std::nullopt;
  const auto rule = std::ranges::find_if(spec.retry_rules, [&outcome](const RetryRule& candidate) {
    return Matches(candidate, outcome);
  });
  if (rule == spec.retry_rules.end()) return std::nullopt;
  const auto index = static_cast<std::size_t>(rule - spec.retry_rules.begin());
  if (RetriesBy(at(no), index) >= rule->retries_max) return std::nullopt;
  return index;
}

void Execution::FailActivity(Turn& turn, ActivityNo no, const TaskOutcome& outcome) {
  EVERSTEP_ASSERT(!outcome.succeeded);
  const auto rule = RetryRuleFor(no, outcome);
  LeaveProcess(turn, no);
  const Activity& activity = at(no);
  EVERSTEP_ASSERT(activity.running());
  const std::uint32_t next = activity.logical_attempt + 1;
  Timestamp due_at{};
  if (rule) {
    Milliseconds delay = program_->SpecOf(no).retry_rules[*rule].DelayBefore(
        RetriesBy(activity, *rule) + 1, Fraction(turn.random));
    if (outcome.retry_after) delay = std::max(delay, *outcome.retry_after);
    if (delay.count() > 0) due_at = std::chrono::ceil<Milliseconds>(turn.now + delay);
  }
  Event event = NewEvent(turn, EventType::kStepFailed, activity.id);
  event.logical_attempt = activity.logical_attempt;
  event.engine_attempt = activity.engine_attempt;
  event.facts.will_retry = rule.has_value();
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
  json.Member("willRetry", rule.has_value());
  if (rule && *rule > 0) json.Member("retryRule", static_cast<std::uint64_t>(*rule));
  if (due_at != Timestamp{}) json.Member("dueAt", FormatTimestamp(due_at));
  if (!outcome.details.empty()) json.RawMember("details", outcome.details);
  json.EndObject();
  Emit(turn, std::move(event));
  EVERSTEP_ASSERT(at(no).failed() && at(no).will_retry == rule.has_value());
  if (due_at != Timestamp{}) EmitWait(turn, PurposeId("retry", IdOf(no), next), due_at);
}

// ---- the end of the run, when it is not success

// The record begins the end of the run, so that a restart goes on with it.
void Execution::FailRun(Turn& turn, std::string_view code, const std::string& message,
                        std::string_view source) {
  Event event = NewEvent(turn, EventType::kErrorRecorded, std::string(code));
  JsonWriter json(event.payload);
  json.BeginObject();
  json.Member("message", Cut(message));
  json.Key("details");
  json.BeginObject();
  json.Member("source", source);
  json.EndObject();
  json.EndObject();
  Emit(turn, std::move(event));
}

bool Execution::AdvanceEnding(Turn& turn) {
  if (!IsEnding()) return false;
  WithdrawRequests(turn);
  if (AdvanceRequests(turn)) return true;
  if (!waiting_stopped_) {
    StopWaiting(turn);
    return true;
  }
  TurnCommands commands(*this, turn);
  if (program_->NextWhileEnding(commands)) return true;
  if (stops_sent_ == 0) StopTools(turn, false);
  if (!state_.activities.running().empty()) return false;
  return AdvanceUndo(turn);
}

// Activities that asked for a slot do not get one any more.
void Execution::WithdrawRequests(Turn& turn) {
  const std::set<ActivityNo> asked = asked_;
  for (const ActivityNo no : asked) {
    if (OutlivesEnding(no)) continue;
    turn.effects.freed_slots.push_back(IdOf(no));
    (void)ForgetRequest(no);
  }
}

// Ends what waits for time or an answer, and what was lost with its process: some of it per call.
void Execution::StopWaiting(Turn& turn) {
  constexpr int kAtOnce = 64;  // there may be any number of them
  EVERSTEP_ASSERT(!waiting_stopped_ && IsEnding());
  const std::set<ActivityNo>& running = state_.activities.running();
  for (int i = 0; i < kAtOnce; ++i) {
    const auto next = running.lower_bound(waiting_stopped_to_);
    if (next == running.end()) {
      waiting_stopped_ = true;
      return;
    }
    const ActivityNo no = *next;
    waiting_stopped_to_ = no + 1;
    if (OutlivesEnding(no) || under_way_.contains(no)) continue;
    const Work work = program_->WorkOf(no);
    if (IsTool(no)) {
      FailActivity(turn, no, Cancelled("it was lost with its process"));
    } else if (work != Work::kChild && work != Work::kScope) {
      LetGo(turn, no);
      FailActivity(turn, no, Cancelled("the run is ending"));
    }
  }
}

void Execution::StopTools(Turn& turn, bool force) {
  EVERSTEP_ASSERT(stops_sent_ == (force ? 1 : 0));
  if (stops_sent_ == 0) stops_sent_at_ = turn.now;
  stops_sent_ = force ? 2 : 1;
  for (const auto& [no, delivery] : under_way_) {
    if (!OutlivesEnding(no)) turn.effects.stop.push_back({TaskOf(no), force});
  }
  for (const auto& [child_id, child] : state_.activities.children()) {
    turn.effects.cancel_children.push_back(RunId(child_id));
  }
}

// They were asked to stop, then forced, and still do not report.
void Execution::GiveUpOnTools(Turn& turn) {
  EVERSTEP_ASSERT(stops_sent_ == 2);
  const std::map<ActivityNo, Delivery> silent = under_way_;
  for (const auto& [no, delivery] : silent) {
    if (OutlivesEnding(no)) continue;
    if (turn.writes.size() >= kEventsPerTurn) return;  // the others in the next turn
    FailActivity(turn, no, Cancelled("it did not stop when asked to"));
  }
  stops_sent_ = 3;
}

// The activity does not get the slot or the tool that it waits for.
void Execution::Withdraw(Turn& turn, ActivityNo no) {
  if (ForgetRequest(no)) turn.effects.freed_slots.push_back(IdOf(no));
  missing_.erase(no);
  program_->PutBack(no);
}

// By order of the program.
bool Execution::CancelActivity(Turn& turn, ActivityNo no, const std::string& reason) {
  const Activity& activity = at(no);
  if (!activity.running()) {
    const bool can_start = activity.status == EntityStatus::kAbsent ||
                           (activity.failed() && (activity.will_retry || activity.held));
    if (!can_start) return false;
    Withdraw(turn, no);
    Skip(turn, no, "CANCELLED", reason);
    return true;
  }
  const Work work = program_->WorkOf(no);
  EVERSTEP_ASSERT(work != Work::kScope);
  if (cancelled_.contains(no)) return false;
  const bool is_outside =
      under_way_.contains(no) && std::ranges::find(turn.effects.dispatch, TaskOf(no), &Task::id) ==
                                     turn.effects.dispatch.end();
  // A call that has handed over a token is of no use once its hook is closed.
  const bool has_hook =
      state_.activities.hooks().contains(PurposeId("hook", activity.id, activity.logical_attempt));
  if (work != Work::kChild && (has_hook || !is_outside)) {
    LetGo(turn, no);
    TaskOutcome outcome = Cancelled(reason);
    outcome.permanent = true;
    FailActivity(turn, no, outcome);
    return true;
  }
  cancelled_[no] = {turn.now, false, reason};
  if (work == Work::kChild) {
    turn.effects.cancel_children.push_back(ChildIdOf(state_, no));
  } else {
    turn.effects.stop.push_back({TaskOf(no), false});
  }
  return true;
}

// Tools that were asked to stop and have not.
void Execution::PressCancelled(Turn& turn) {
  const std::map<ActivityNo, Cancellation> cancelled = cancelled_;
  for (const auto& [no, order] : cancelled) {
    if (!under_way_.contains(no)) continue;
    if (order.forced && turn.now >= order.at + 2 * options_.cancel_grace) {
      FailActivity(turn, no, Cancelled("it did not stop when asked to"));
    } else if (!order.forced && turn.now >= order.at + options_.cancel_grace) {
      cancelled_[no].forced = true;
      turn.effects.stop.push_back({TaskOf(no), true});
    }
  }
}

// The attempt's fate is decided: stops what it has outside.
void Execution::LetGo(Turn& turn, ActivityNo no) {
  if (under_way_.contains(no)) turn.effects.stop.push_back({TaskOf(no), true});
  const std::string hook_id = PurposeId("hook", IdOf(no), at(no).logical_attempt);
  if (state_.activities.hooks().contains(hook_id)) {
    Emit(turn, NewEvent(turn, EventType::kHookDisposed, hook_id));
  }
  RunId child_id = ChildIdOf(state_, no);
  if (state_.activities.children().contains(child_id.value())) {
    turn.effects.cancel_children.push_back(std::move(child_id));
  }
}

bool Execution::AdvanceUndo(Turn& turn) {
  const Program::Undo undo = program_->NextUndo();
  switch (undo.what) {
    case Program::Undo::What::kDone:
      EndRun(turn);
      return true;
    case Program::Undo::What::kWait:
      return false;
    case Program::Undo::What::kStart:
      break;
  }
  EVERSTEP_ASSERT(undo.no != kNoActivity);
  if (missing_.contains(undo.no) || asked_.contains(undo.no) || !turn.may_start) return false;
  if (status() == RunStatus::kPaused) {
    Emit(turn, NewEvent(turn, EventType::kRunResumed, {}));
  } else {
    Schedule(turn, undo.no, false);
  }
  return true;
}

void Execution::EndRun(Turn& turn) {
  EVERSTEP_ASSERT(state_.run.is_ending() && state_.activities.running().empty());
  const RunProgress& run = state_.run;
  if (run.ending == Ending::kCancelling) {
    Event event = NewEvent(turn, EventType::kRunCancelled, {});
    JsonWriter json(event.payload);
    json.BeginObject();
    if (!run.ending_signal.empty()) json.Member("signalId", run.ending_signal);
    if (!run.ending_message.empty()) json.Member("reason", run.ending_message);
    WriteUndoFailed(json, run.undo_failed);
    json.EndObject();
    return Emit(turn, std::move(event));
  }
  Event event = NewEvent(turn, EventType::kRunFailed, {});
  event.facts.error_code = run.ending_code;
  event.facts.error_message = Cut(run.ending_message);
  JsonWriter json(event.payload);
  json.BeginObject();
  json.Member("errorCode", run.ending_code);
  json.Member("errorMessage", event.facts.error_message);
  if (!run.ending_step.empty()) json.Member("failureSource", run.ending_step);
  WriteUndoFailed(json, run.undo_failed);
  json.EndObject();
  Emit(turn, std::move(event));
}

}  // namespace everstep
