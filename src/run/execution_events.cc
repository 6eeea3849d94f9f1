// What happens to a run from outside: time, deliveries, children, the loss of its process.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/json.h"
#include "flow/operations_done.h"
#include "run/execution.h"

namespace everstep {
namespace {

// What an approver said. Silence, a typing error or another message must not count as a yes.
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

// What a payload or a failure means for the attempt.
Result<TaskOutcome> OutcomeOf(const HookDelivery& delivery, bool approval) {
  if (delivery.kind == HookDelivery::Kind::kFailure) {
    return TaskOutcome::Failure(delivery.error_code, delivery.error_message, delivery.retryable);
  }
  if (approval) return AnswerOf(delivery.payload);
  return TaskOutcome::Success(delivery.payload);
}

std::string ReceivedPayload(const HookDelivery& delivery) {
  std::string payload;
  JsonWriter json(payload);
  json.BeginObject();
  if (delivery.kind == HookDelivery::Kind::kFailure) {
    json.Key("error");
    json.BeginObject();
    json.Member("code", delivery.error_code);
    if (!delivery.error_message.empty()) json.Member("message", delivery.error_message);
    json.EndObject();
  } else {
    if (delivery.payload.empty()) return {};
    json.RawMember("payload", delivery.payload);
  }
  json.EndObject();
  return payload;
}

}  // namespace

void Execution::WaitDue(Turn& turn, std::string_view wait_id) {
  const auto wait = state_.activities.waits().find(wait_id);
  if (wait == state_.activities.waits().end() || IsTerminal(status())) return;
  if (status() == RunStatus::kPaused) return;  // it fires on resume
  if (wait->second.due_at > turn.now) {
    turn.effects.armed.emplace_back(wait->second.due_at, wait_id);
    return;
  }
  const std::string id(wait_id);
  Emit(turn, NewEvent(turn, EventType::kWaitCompleted, id));
  EVERSTEP_ASSERT(!state_.activities.waits().contains(id));
  if (id == "start") {
    turn.effects.start_due = true;
    return;
  }
  const Purpose purpose = PurposeOf(id);
  const ActivityNo no = state_.activities.Find(purpose.activity_id);
  const bool current =
      no != kNoActivity && at(no).running() && at(no).logical_attempt == purpose.attempt;
  if (current && purpose.what == "wait") {
    Finish(turn, no, TaskOutcome());
  } else if (current && purpose.what == "timeout") {
    const bool hook =
        state_.activities.hooks().contains(PurposeId("hook", IdOf(no), purpose.attempt));
    LetGo(turn, no);
    FailActivity(
        turn, no,
        TaskOutcome::Failure("TIMEOUT",
                             hook ? "nobody answered in time" : "it took longer than its timeout",
                             true, "TIMEOUT"));
  }
  Advance(turn);
}

Status Execution::HookReceived(Turn& turn, const HookDelivery& delivery) {
  const Error not_found{ErrorCode::kHookNotFound, "no hook waits for this token", {}};
  if (IsTerminal(status())) return not_found;
  const std::string* found = state_.activities.HookWith(delivery.token);
  if (found == nullptr) return not_found;
  const std::string hook_id = *found;
  const ActivityNo no = state_.activities.Find(PurposeOf(hook_id).activity_id);
  if (delivery.kind == HookDelivery::Kind::kHeartbeat) {
    // While the call that handed over the token is under way, its own lease counts.
    if (under_way_.contains(no)) {
      Heartbeat(turn, TaskOf(no));
    } else {
      AwaitHeartbeat(no, turn.now);
    }
    return Ok();
  }
  if (state_.activities.WasDelivered(IdOf(no), delivery.delivery_id)) return Ok();
  const auto outcome = OutcomeOf(delivery, state_.activities.hooks().at(hook_id).approval);
  if (!outcome) return outcome.error();
  Event received = NewEvent(turn, EventType::kHookReceived, hook_id);
  if (!delivery.delivery_id.empty()) received.instance_id = hook_id + "/" + delivery.delivery_id;
  received.payload = ReceivedPayload(delivery);
  Emit(turn, std::move(received));
  Emit(turn, NewEvent(turn, EventType::kHookDisposed, hook_id));
  // The call that handed over the token may still be under way.
  if (under_way_.contains(no)) turn.effects.stop.push_back({TaskOf(no), false});
  Finish(turn, no, *outcome);
  Advance(turn);
  return Ok();
}

// The authority turned the hook into a conflict; the log says so already.
void Execution::TokenTaken(Turn& turn, const std::string& hook_id) {
  (void)state_.activities.LoseHook(hook_id);
  Advance(turn);
}

void Execution::ChildEnded(Turn& turn, const ChildEnd& end) {
  const auto child = state_.activities.children().find(end.run_id.value());
  if (child == state_.activities.children().end() || IsTerminal(status())) return;
  const ActivityNo no = state_.activities.Find(child->second.activity_id);
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
  // The end of a child whose attempt was given up is only recorded.
  const bool current = no != kNoActivity && at(no).running() && ChildIdOf(state_, no) == end.run_id;
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
    Finish(turn, no, outcome);
  }
  Advance(turn);
}

// ---- deadlines

void Execution::SetDeadlines(ActivityNo no, Timestamp now) {
  Delivery& delivery = under_way_.at(no);
  EVERSTEP_ASSERT(!delivery.taken);
  delivery.taken = true;
  const ActivitySpec& spec = program_->SpecOf(no);
  if (spec.timeout && !spec.answered_by_hook) {
    delivery.timeout_at = now + *spec.timeout;
    deadlines_.insert({delivery.timeout_at, no, Deadline::Of::kAttempt});
  }
  if (spec.heartbeat_timeout) {
    delivery.lease_until = now + *spec.heartbeat_timeout;
    deadlines_.insert({delivery.lease_until, no, Deadline::Of::kLease});
  }
}

void Execution::ClearDeadlines(ActivityNo no) {
  const auto delivery = under_way_.find(no);
  if (delivery == under_way_.end()) return;
  deadlines_.erase({delivery->second.timeout_at, no, Deadline::Of::kAttempt});
  deadlines_.erase({delivery->second.lease_until, no, Deadline::Of::kLease});
  delivery->second = {};
}

void Execution::AwaitHeartbeat(ActivityNo no, Timestamp now) {
  const auto& timeout = program_->SpecOf(no).heartbeat_timeout;
  if (!timeout) return;
  ForgetHeartbeat(no);
  silent_at_[no] = now + *timeout;
  deadlines_.insert({silent_at_[no], no, Deadline::Of::kHook});
}

void Execution::ForgetHeartbeat(ActivityNo no) {
  const auto silent = silent_at_.find(no);
  if (silent == silent_at_.end()) return;
  deadlines_.erase({silent->second, no, Deadline::Of::kHook});
  silent_at_.erase(silent);
}

void Execution::Heartbeat(Turn& turn, const TaskId& task) {
  const ActivityNo no = state_.activities.Find(task.step_id);
  const auto delivery = under_way_.find(no);
  if (delivery == under_way_.end() || delivery->second.lease_until == Timestamp{}) return;
  if (at(no).logical_attempt != task.logical_attempt ||
      at(no).engine_attempt != task.engine_attempt) {
    return;
  }
  deadlines_.erase({delivery->second.lease_until, no, Deadline::Of::kLease});
  delivery->second.lease_until = turn.now + *program_->SpecOf(no).heartbeat_timeout;
  deadlines_.insert({delivery->second.lease_until, no, Deadline::Of::kLease});
}

void Execution::Taken(Turn& turn, const TaskId& task) {
  if (!Runs(task)) return;
  const ActivityNo no = state_.activities.Find(task.step_id);
  const auto delivery = under_way_.find(no);
  if (delivery != under_way_.end() && !delivery->second.taken) SetDeadlines(no, turn.now);
}

void Execution::Lost(Turn& turn, const TaskId& task) {
  if (IsTerminal(status()) || !Runs(task)) return;
  const ActivityNo no = state_.activities.Find(task.step_id);
  const bool on_its_way = asked_.contains(no) || missing_.contains(no);
  if (on_its_way || !IsTool(no)) return;
  DeliverAgain(turn, no);
  Advance(turn);
}

Timestamp Execution::NextDeadline() const {
  Timestamp next{};
  const auto consider = [&next](Timestamp time) {
    if (next == Timestamp{} || time < next) next = time;
  };
  if (!deadlines_.empty()) consider(deadlines_.begin()->at);
  if (under_way_.empty()) return next;
  for (const auto& [no, order] : cancelled_) {
    if (under_way_.contains(no))
      consider(order.at + options_.cancel_grace * (order.forced ? 2 : 1));
  }
  if (IsEnding() && (stops_sent_ == 1 || stops_sent_ == 2)) {
    consider(stops_sent_at_ + options_.cancel_grace * stops_sent_);
  }
  if (status() == RunStatus::kPaused && !drain_alerted_) {
    consider(state_.run.paused_at + options_.drain_timeout);
  }
  return next;
}

void Execution::Tick(Turn& turn) {
  if (IsTerminal(status())) return;
  // The rest is due at once, in the next turn.
  while (!deadlines_.empty() && deadlines_.begin()->at <= turn.now &&
         turn.writes.size() < kEventsPerTurn) {
    DeadlinePassed(turn, *deadlines_.begin());
  }
  if (!cancelled_.empty()) PressCancelled(turn);
  const bool busy = !under_way_.empty();
  if (busy && IsEnding() && turn.now >= stops_sent_at_ + options_.cancel_grace * stops_sent_) {
    if (stops_sent_ == 1) {
      StopTools(turn, true);
    } else if (stops_sent_ == 2) {
      GiveUpOnTools(turn);
    }
  }
  if (busy && status() == RunStatus::kPaused && !drain_alerted_ &&
      turn.now >= state_.run.paused_at + options_.drain_timeout) {
    drain_alerted_ = true;
    turn.effects.alerts.push_back(
        {"PAUSE_DRAIN_TIMEOUT", "P2", state_.run_id.value(),
         std::to_string(under_way_.size()) + " steps still run after the drain timeout"});
  }
  Advance(turn);
}

void Execution::DeadlinePassed(Turn& turn, const Deadline& deadline) {
  const ActivityNo no = deadline.no;
  EVERSTEP_ASSERT(deadline.at <= turn.now);
  if (deadline.of == Deadline::Of::kHook) {
    ForgetHeartbeat(no);
    if (status() == RunStatus::kPaused && !IsEnding()) return;  // it counts again on resume
    LetGo(turn, no);
    return FailActivity(
        turn, no,
        TaskOutcome::Failure("TIMEOUT", "the holder of its token sent no heartbeat in time", true,
                             "TIMEOUT"));
  }
  EVERSTEP_ASSERT(under_way_.contains(no));
  const bool lease = deadline.of == Deadline::Of::kLease;
  if (lease && !program_->SpecOf(no).answered_by_hook) {
    LetGo(turn, no);
    return DeliverAgain(turn, no);
  }
  if (lease) {  // the hook stays open: its token was handed over with the call
    turn.effects.stop.push_back({TaskOf(no), true});
    return DeliverAgain(turn, no);
  }
  LetGo(turn, no);
  FailActivity(turn, no,
               TaskOutcome::Failure("TIMEOUT", "it took longer than its timeout", true, "TIMEOUT"));
}

// Its worker is silent or gone.
void Execution::DeliverAgain(Turn& turn, ActivityNo no) {
  if (cancelled_.contains(no) || (IsEnding() && !OutlivesEnding(no))) {
    return FailActivity(
        turn, no, TaskOutcome::Failure("CANCELLED", "it fell silent while it was stopped", false));
  }
  const bool paused = status() == RunStatus::kPaused && !IsEnding();
  // Delivered again when the run is resumed, or by the next process.
  if (paused || !turn.may_start) return LeaveProcess(turn, no);
  ClearDeadlines(no);
  under_way_.erase(no);
  Losses& losses = losses_[no];
  const std::uint32_t attempt = at(no).logical_attempt;
  losses = {attempt, losses.logical_attempt == attempt ? losses.count + 1 : 1};
  Redeliver(turn, no);
}

// ---- after the loss of a process

void Execution::Recover(Turn& turn) {
  if (IsTerminal(status())) return;
  RecoverHeartbeats(turn.now);
  if (turn.may_start) {
    more_ = false;
    RecoverTools(turn);
    RecoverChildren(turn);
    recovers_ = more_;
    if (more_) return;
  }
  Advance(turn);
}

void Execution::GoOn(Turn& turn) {
  if (recovers_) return Recover(turn);
  if (!IsTerminal(status())) Advance(turn);
}

void Execution::TakeOver(const Execution& before, const std::set<std::string>& slots) {
  EVERSTEP_ASSERT(run_id() == before.run_id() && under_way_.empty() && slots_.empty());
  for (const std::string& id : slots) slots_.insert(state_.activities.Add(id));
  drain_alerted_ = before.drain_alerted_;
  for (const auto& [then, delivery] : before.under_way_) {
    const ActivityNo no = state_.activities.Find(before.IdOf(then));
    if (no == kNoActivity || !Runs(before.TaskOf(then))) continue;
    under_way_[no] = delivery;
    if (delivery.timeout_at != Timestamp{}) {
      deadlines_.insert({delivery.timeout_at, no, Deadline::Of::kAttempt});
    }
    if (delivery.lease_until != Timestamp{}) {
      deadlines_.insert({delivery.lease_until, no, Deadline::Of::kLease});
    }
  }
  for (const auto& [then, silent_at] : before.silent_at_) {
    const ActivityNo no = state_.activities.Find(before.IdOf(then));
    if (no == kNoActivity || !AwaitsHook(no)) continue;
    if (at(no).logical_attempt != before.at(then).logical_attempt) continue;
    silent_at_[no] = silent_at;
    deadlines_.insert({silent_at, no, Deadline::Of::kHook});
  }
}

// The activity is under way and only its hook is open.
bool Execution::AwaitsHook(ActivityNo no) const {
  const Activity& activity = at(no);
  if (!activity.running() || IsTool(no)) return false;
  return state_.activities.hooks().contains(
      PurposeId("hook", activity.id, activity.logical_attempt));
}

// Heartbeats are not in the log: after the loss of a process each holder has its whole time again.
void Execution::RecoverHeartbeats(Timestamp now) {
  if (status() == RunStatus::kPaused) return;
  for (const auto& [hook_id, hook] : state_.activities.hooks()) {
    const ActivityNo no = state_.activities.Find(PurposeOf(hook_id).activity_id);
    if (no == kNoActivity || silent_at_.contains(no) || !AwaitsHook(no)) continue;
    AwaitHeartbeat(no, now);
  }
}

// What waits to request a slot is ready again after the fold, except for deliveries: their
// activities run by the log.
void Execution::Shed() {
  EVERSTEP_ASSERT(program_ != nullptr && shed_ids_.empty());
  for (auto next = unasked_.begin(); next != unasked_.end();) {
    const auto unasked = next++;
    if (at(unasked->second).running()) continue;
    asked_.erase(unasked->second);
    unasked_.erase(unasked);
  }
  const auto keep = [this](ActivityNo no) { shed_ids_.emplace(no, IdOf(no)); };
  for (const auto& [no, delivery] : under_way_) keep(no);
  for (const auto& [no, losses] : losses_) keep(no);
  for (const auto& [no, silent_at] : silent_at_) keep(no);
  for (const auto& [no, order] : cancelled_) keep(no);
  for (const auto* set : {&asked_, &slots_, &missing_}) std::ranges::for_each(*set, keep);
  program_.reset();
  state_ = ExecutionState{state_.run_id, state_.scope, {}, {}};
  folded_bytes_ = 0;
}

void Execution::TakeOverShed(const Execution& shed) {
  EVERSTEP_ASSERT(run_id() == shed.run_id() && shed.program_ == nullptr);
  EVERSTEP_ASSERT(under_way_.empty() && asked_.empty() && slots_.empty());
  std::map<ActivityNo, ActivityNo> here;
  for (const auto& [no, id] : shed.shed_ids_) here[no] = program_->NumberOf(id);
  const auto number = [&here](ActivityNo no) { return here.at(no); };
  for (const auto& [no, delivery] : shed.under_way_) under_way_[number(no)] = delivery;
  for (const auto& [no, losses] : shed.losses_) {
    losses_[number(no)] = losses;
  }
  for (const ActivityNo no : shed.slots_) slots_.insert(number(no));
  for (const Deadline& deadline : shed.deadlines_) {
    deadlines_.insert({deadline.at, number(deadline.no), deadline.of});
  }
  for (const auto& [no, silent_at] : shed.silent_at_) silent_at_[number(no)] = silent_at;
  for (const auto& [no, order] : shed.cancelled_) cancelled_[number(no)] = order;
  for (const auto& [rank, no] : shed.unasked_) unasked_.emplace(rank, number(no));
  for (const ActivityNo no : shed.asked_) asked_.insert(number(no));
  for (const ActivityNo no : shed.missing_) missing_.insert(number(no));
  for (const auto* set : {&asked_, &missing_}) {
    for (const ActivityNo no : *set) {
      if (!at(no).running()) program_->SetAside(no);
    }
  }
  children_started_ = shed.children_started_;
  waiting_stopped_ = shed.waiting_stopped_;
  stops_sent_ = shed.stops_sent_;
  stops_sent_at_ = shed.stops_sent_at_;
  drain_alerted_ = shed.drain_alerted_;
  recovers_ = shed.recovers_;
}

void Execution::RecoverTools(Turn& turn) {
  if (status() != RunStatus::kRunning && !IsEnding()) return;  // delivered again on resume
  const std::set<ActivityNo> running = state_.activities.running();
  AddOperations(running.size());
  for (const ActivityNo no : running) {
    if (!IsTool(no) || under_way_.contains(no) || asked_.contains(no) || missing_.contains(no)) {
      continue;
    }
    if (IsEnding() && !OutlivesEnding(no)) continue;  // it ends with the run
    if (turn.writes.size() >= kEventsPerTurn) {
      more_ = true;
      return;
    }
    Redeliver(turn, no);
  }
}

void Execution::RecoverChildren(Turn& turn) {
  for (const auto& [child_id, child] : state_.activities.children()) {
    if (!children_started_.insert(child_id).second) continue;
    const ActivityNo no = state_.activities.Find(child.activity_id);
    const bool waits =
        no != kNoActivity && at(no).running() && ChildIdOf(state_, no).value() == child_id;
    if (waits) {
      turn.effects.children.push_back(ChildOf(no, child.program, at(no).inputs));
    } else {  // of an attempt that was given up: the cancellation may have been lost
      turn.effects.cancel_children.push_back(RunId(child_id));
    }
  }
}

}  // namespace everstep
