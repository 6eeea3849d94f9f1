#include <algorithm>
#include <utility>

#include "base/json.h"
#include "run/plan_run.h"

namespace everstep {
namespace {

// What an approver said. Nobody's silence, typing error or other message may count as a yes.
Result<TaskOutcome> AnswerOf(const std::string& payload) {
  const auto answer = ValueFromJson(payload.empty() ? "null" : payload);
  const Value approved = answer ? answer->Get("approved") : Value();
  if (approved.kind() != Value::Kind::kBool) {
    return Error{ErrorCode::kSchemaValidationFailed,
                 R"(an approval is answered with {"approved": true} or {"approved": false})",
                 {{"/approved", "must be true or false"}}};
  }
  if (IsTrue(approved)) return TaskOutcome::Success(payload);
  const Value comment = answer->Get("comment");
  return TaskOutcome::Failure(
      "APPROVAL_REJECTED",
      comment.kind() == Value::Kind::kText ? comment.text() : "the approver said no", false,
      "USER");
}

}  // namespace

// Things that happen to a run from outside: time, deliveries, children.

void PlanRun::WaitDue(Turn& turn, std::string_view wait_id) {
  const auto wait = progress_.waits.find(wait_id);
  if (wait == progress_.waits.end() || IsTerminal(status())) return;
  if (status() == RunStatus::kPaused) return;  // it fires on resume
  if (wait->second.due_at > turn.now) {
    turn.effects.armed.emplace_back(wait->second.due_at, wait_id);
    return;
  }
  const std::string id(wait_id);
  Emit(turn, NewEvent(turn, EventType::kWaitCompleted, id));
  if (id == "start") {
    turn.effects.start_due = true;
    return;
  }
  const Purpose purpose = PurposeOf(id);
  const UnitKey key = UnitNamed(*progress_.plan, purpose.unit_id);
  const Unit* unit = progress_.Find(key);
  const bool current = unit != nullptr && unit->status == EntityStatus::kRunning &&
                       unit->logical_attempt == purpose.attempt;
  if (current && purpose.what == "wait") {
    FinishUnit(turn, key, TaskOutcome());
  } else if (current && purpose.what == "timeout") {
    const bool hook = progress_.hooks.contains(PurposeId("hook", purpose.unit_id, purpose.attempt));
    LetGo(turn, key);
    FailUnit(turn, key,
             TaskOutcome::Failure(
                 "TIMEOUT", hook ? "nobody answered in time" : "it took longer than its timeout",
                 true, "TIMEOUT"));
  }
  Advance(turn);
}

Status PlanRun::HookReceived(Turn& turn, std::string_view token, const HookDelivery& delivery) {
  const Error not_found{ErrorCode::kHookNotFound, "no hook waits for this token", {}};
  if (IsTerminal(status())) return not_found;
  const auto hook =
      std::find_if(progress_.hooks.begin(), progress_.hooks.end(),
                   [token](const auto& entry) { return entry.second.token == token; });
  if (hook == progress_.hooks.end()) return not_found;
  const std::string hook_id = hook->first;
  const Purpose purpose = PurposeOf(hook_id);
  const UnitKey key = UnitNamed(*progress_.plan, purpose.unit_id);
  TaskOutcome outcome;
  outcome.result = delivery.payload;
  if (progress_.plan->steps[key.step].wait_for->kind == WaitFor::Kind::kApproval) {
    auto answer = AnswerOf(delivery.payload);
    if (!answer) return answer.error();
    outcome = *std::move(answer);
  }
  Event received = NewEvent(turn, EventType::kHookReceived, hook_id);
  if (!delivery.delivery_id.empty()) received.instance_id = hook_id + "/" + delivery.delivery_id;
  if (!delivery.payload.empty()) received.payload = R"({"payload":)" + delivery.payload + "}";
  Emit(turn, std::move(received));
  Emit(turn, NewEvent(turn, EventType::kHookDisposed, hook_id));
  FinishUnit(turn, key, outcome);
  Advance(turn);
  return Ok();
}

// The authority turned the hook into a conflict; the log says so already.
void PlanRun::TokenTaken(Turn& turn, const std::string& hook_id) {
  if (progress_.hooks.erase(hook_id) > 0) progress_.hook_conflicts.insert(hook_id);
  Advance(turn);
}

void PlanRun::ChildEnded(Turn& turn, const ChildEnd& end) {
  const auto child = progress_.children.find(end.run_id.value());
  if (child == progress_.children.end() || IsTerminal(status())) return;
  const UnitKey key = UnitNamed(*progress_.plan, child->second.unit_id);
  Event event = NewEvent(turn, EventType::kChildFinished, end.run_id.value());
  JsonWriter json(event.payload);
  json.BeginObject();
  json.Member("status", Name(end.status));
  if (!end.result.empty()) json.RawMember("result", end.result);
  if (!end.error_code.empty()) {
    json.Key("error");
    json.BeginObject();
    json.Member("code", end.error_code);
    json.Member("message", end.error_message);
    json.EndObject();
  }
  json.EndObject();
  Emit(turn, std::move(event));
  const Unit* unit = progress_.Find(key);
  // The child of an attempt that was given up ends for the record only.
  const bool current =
      unit != nullptr && unit->status == EntityStatus::kRunning && ChildIdOf(key) == end.run_id;
  if (current) {
    TaskOutcome outcome;
    outcome.result = end.result;
    if (end.status != RunStatus::kCompleted) {
      const bool failed = end.status == RunStatus::kFailed;
      outcome = TaskOutcome::Failure(
          failed ? "CHILD_FAILED" : "CHILD_CANCELLED",
          "run " + end.run_id.value() + (end.error_code.empty() ? "" : ": " + end.error_code) +
              (end.error_message.empty() ? "" : ": " + end.error_message),
          failed, "USER");
    }
    FinishUnit(turn, key, outcome);
  }
  Advance(turn);
}

// ---- deadlines

void PlanRun::SetDeadlines(const UnitKey& key, Timestamp now) {
  Delivery& delivery = under_way_.at(key);
  delivery.taken = true;
  const Action& action = ActionOf(key);
  if (action.timeout) {
    delivery.timeout_at = now + *action.timeout;
    deadlines_.insert({delivery.timeout_at, key, false});
  }
  if (action.heartbeat_timeout) {
    delivery.lease_until = now + *action.heartbeat_timeout;
    deadlines_.insert({delivery.lease_until, key, true});
  }
}

void PlanRun::ClearDeadlines(const UnitKey& key) {
  const auto delivery = under_way_.find(key);
  if (delivery == under_way_.end()) return;
  deadlines_.erase({delivery->second.timeout_at, key, false});
  deadlines_.erase({delivery->second.lease_until, key, true});
  delivery->second = {};
}

void PlanRun::Heartbeat(Turn& turn, const TaskId& task) {
  const UnitKey key = UnitNamed(*progress_.plan, task.step_id);
  const auto delivery = under_way_.find(key);
  if (delivery == under_way_.end() || delivery->second.lease_until == Timestamp{}) return;
  const Unit& unit = *progress_.Find(key);
  if (unit.logical_attempt != task.logical_attempt || unit.engine_attempt != task.engine_attempt) {
    return;
  }
  deadlines_.erase({delivery->second.lease_until, key, true});
  delivery->second.lease_until = turn.now + *ActionOf(key).heartbeat_timeout;
  deadlines_.insert({delivery->second.lease_until, key, true});
}

void PlanRun::Taken(Turn& turn, const TaskId& task) {
  if (!Runs(task)) return;
  const UnitKey key = UnitNamed(*progress_.plan, task.step_id);
  const auto delivery = under_way_.find(key);
  if (delivery != under_way_.end() && !delivery->second.taken) SetDeadlines(key, turn.now);
}

void PlanRun::Lost(Turn& turn, const TaskId& task) {
  if (IsTerminal(status()) || !Runs(task)) return;
  const UnitKey key = UnitNamed(*progress_.plan, task.step_id);
  const bool on_its_way = asked_.contains(key) || missing_.contains(key);
  if (on_its_way || !IsTool(key)) return;
  DeliverAgain(turn, key);
  Advance(turn);
}

Timestamp PlanRun::NextDeadline() const {
  Timestamp next{};
  const auto consider = [&next](Timestamp at) {
    if (next == Timestamp{} || at < next) next = at;
  };
  if (!deadlines_.empty()) consider(deadlines_.begin()->at);
  if (under_way_.empty()) return next;
  if (IsEnding() && (stops_sent_ == 1 || stops_sent_ == 2)) {
    consider(stops_sent_at_ + options_.cancel_grace * stops_sent_);
  }
  if (status() == RunStatus::kPaused && !drain_alerted_) {
    consider(progress_.paused_at + options_.drain_timeout);
  }
  return next;
}

void PlanRun::Tick(Turn& turn) {
  if (IsTerminal(status())) return;
  while (!deadlines_.empty() && deadlines_.begin()->at <= turn.now) {
    DeadlinePassed(turn, *deadlines_.begin());
  }
  const bool busy = !under_way_.empty();
  if (busy && IsEnding() && turn.now >= stops_sent_at_ + options_.cancel_grace * stops_sent_) {
    if (stops_sent_ == 1) {
      StopTools(turn, true);
    } else if (stops_sent_ == 2) {
      GiveUpOnTools(turn);
    }
  }
  if (busy && status() == RunStatus::kPaused && !drain_alerted_ &&
      turn.now >= progress_.paused_at + options_.drain_timeout) {
    drain_alerted_ = true;
    turn.effects.alerts.push_back(
        {"PAUSE_DRAIN_TIMEOUT", "P2", run_id_.value(),
         std::to_string(under_way_.size()) + " steps still run after the drain timeout"});
  }
  Advance(turn);
}

void PlanRun::DeadlinePassed(Turn& turn, const Deadline& deadline) {
  const UnitKey key = deadline.key;
  const bool lease = deadline.lease;
  LetGo(turn, key);
  if (!lease) {
    return FailUnit(
        turn, key,
        TaskOutcome::Failure("TIMEOUT", "it took longer than its timeout", true, "TIMEOUT"));
  }
  DeliverAgain(turn, key);
}

// Its worker is silent or gone.
void PlanRun::DeliverAgain(Turn& turn, const UnitKey& key) {
  if (IsEnding() && !OutlivesEnding(key)) {
    return FailUnit(
        turn, key, TaskOutcome::Failure("CANCELLED", "it fell silent while it was stopped", false));
  }
  const bool paused = status() == RunStatus::kPaused && !IsEnding();
  // Delivered again when the run is resumed, or by the next process.
  if (paused || !turn.may_start) return LeaveProcess(turn, key);
  ClearDeadlines(key);
  under_way_.erase(key);
  Losses& losses = losses_[key];
  const std::uint32_t attempt = progress_.Find(key)->logical_attempt;
  losses = {attempt, losses.logical_attempt == attempt ? losses.count + 1 : 1};
  Redeliver(turn, key);
}

}  // namespace everstep
