// How events change the state of a plan's run.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "event/catalogue.h"
#include "run/payload_member.h"
#include "run/plan_program.h"

namespace everstep {

void PlanProgram::Register(ActivityNo no) {
  EVERSTEP_ASSERT(no < state_.activities.size());
  while (keys_.size() <= no) {
    const auto next = static_cast<ActivityNo>(keys_.size());
    const UnitKey key = UnitNamed(*plan_, state_.activities.at(next).id);
    keys_.push_back(key);
    if (key.step == kNoStep) continue;
    if (key.role == UnitKey::Role::kStep) steps_[key.step].activity = next;
    if (key.role == UnitKey::Role::kUndo) undo_[key] = next;
    if (key.role != UnitKey::Role::kItem) continue;
    const auto loop = loops_.find(key.step);
    if (loop != loops_.end() && key.item < loop->second.units.size()) {
      loop->second.units[key.item].activity = next;
    }
  }
}

void PlanProgram::Apply(const Event& event, const ActivityChange& change) {
  if (change.no == kNoActivity) return;
  Register(change.no);
  const UnitKey key = KeyOf(change.no);
  if (!Exists(key)) return;  // of no step of this plan
  if (everstep::SpecOf(event.type).entity != EntityKind::kStep) {
    if (change.due) AskForRetry(key);
    return;
  }
  if (plan_->steps[key.step].foreach) loops_changed_.insert(key.step);
  ApplyStep(key, event, change);
}

void PlanProgram::ApplyStep(const UnitKey& key, const Event& event, const ActivityChange& change) {
  switch (event.type) {
    case EventType::kStepStarted:
      return ApplyStarted(key, event, change.before);
    case EventType::kStepCompleted:
      return ApplyCompleted(key);
    case EventType::kStepFailed:
      return ApplyFailed(key, change, event);
    case EventType::kStepSkipped:
      return ApplySkipped(key, change.before);
    default:
      return;
  }
}

void PlanProgram::ApplyStarted(const UnitKey& key, const Event& event, EntityStatus before) {
  if (before == EntityStatus::kRunning) return;  // delivered again
  TakeOut(key);
  if (key.role == UnitKey::Role::kItem) {
    Loop& loop = loops_.at(key.step);
    if (before == EntityStatus::kAbsent) ++loop.unsettled;
    SkipBegun(loop, state_.activities);
    ++loop.running;
  } else if (IsLoop(key)) {
    ApplyLoopStarted(key.step, event);
  }
}

void PlanProgram::ApplyLoopStarted(StepIndex step, const Event& event) {
  Loop& loop = loops_[step];
  const Value items = ValueMemberOf(event.payload, "input").Get("items");
  if (items.kind() == Value::Kind::kList) loop.items = items.list();
  loop.units.resize(loop.items.size());
  loop.results = {};
  loops_open_.insert(step);
}

void PlanProgram::ApplyCompleted(const UnitKey& key) {
  if (key.role == UnitKey::Role::kUndo) return;
  const PlanStep& spec = plan_->steps[key.step];
  const bool item = key.role == UnitKey::Role::kItem;
  if (spec.compensate && item == spec.foreach.has_value()) succeeded_.push_back(key);
  if (item) return EndItem(key, true);
  loops_open_.erase(key.step);
  Settle(key.step, End::kThrough, {});
}

// The item has come to its end for good while it ran.
void PlanProgram::EndItem(const UnitKey& key, bool success) {
  Loop& loop = loops_.at(key.step);
  EVERSTEP_ASSERT(loop.running > 0 && loop.unsettled > 0);
  loop.units[key.item].settled = true;
  --loop.running;
  --loop.unsettled;
  ++loop.done;
  if (success) return;
  ++loop.failed;
  if (plan_->steps[key.step].on_failure != PlanStep::OnFailure::kContinue) loop.stopped = true;
}

void PlanProgram::ApplyFailed(const UnitKey& key, const ActivityChange& change,
                              const Event& event) {
  const Activity& activity = state_.activities.at(change.no);
  const bool item = key.role == UnitKey::Role::kItem;
  if (activity.will_retry) {
    if (item) --loops_.at(key.step).running;
    if (change.due) AskForRetry(key);
    return;
  }
  if (!item) loops_open_.erase(key.step);
  const bool hold = plan_->steps[key.step].on_failure == PlanStep::OnFailure::kHold &&
                    !state_.run.is_ending() && key.role != UnitKey::Role::kUndo;
  if (hold) {
    state_.activities.Hold(change.no);
    if (item) --loops_.at(key.step).running;
    return;
  }
  if (item) return EndItem(key, false);
  if (key.role == UnitKey::Role::kUndo) {
    state_.run.undo_failed.push_back(activity.id);
    return;
  }
  ApplyStepFailedForGood(key.step, activity, event);
}

void PlanProgram::ApplyStepFailedForGood(StepIndex step, const Activity& activity,
                                         const Event& event) {
  const PlanStep& spec = plan_->steps[step];
  if (!state_.run.is_ending()) {
    switch (spec.on_failure) {
      case PlanStep::OnFailure::kContinue:
        return Settle(step, End::kThrough, {});
      case PlanStep::OnFailure::kFallback:
        if (steps_[spec.fallback].settled) break;  // an operator skipped it before
        steps_[spec.fallback].fallback_needed = true;
        ready_.insert(PlaceOf(spec.fallback));
        return;
      case PlanStep::OnFailure::kHold:
      case PlanStep::OnFailure::kFail:
        break;
    }
    state_.run.ending_step = spec.step_id;
    state_.run.BeginEnding(RunProgress::Ending::kFailing, event.seq, activity.error_code,
                           "step " + spec.step_id + ": " + activity.error_message);
  }
  Settle(step, End::kFailed, {});
}

void PlanProgram::ApplySkipped(const UnitKey& key, EntityStatus before) {
  TakeOut(key);
  if (key.role == UnitKey::Role::kUndo) return;
  if (key.role == UnitKey::Role::kItem) {
    Loop& loop = loops_.at(key.step);
    loop.units[key.item].settled = true;
    SkipBegun(loop, state_.activities);
    if (before != EntityStatus::kAbsent) --loop.unsettled;
    ++loop.done;
    return;
  }
  loops_open_.erase(key.step);
  doomed_.erase(key.step);
  const std::string& code = Find(key)->error_code;
  Settle(key.step, code == "DEPENDENCY_FAILED" ? End::kFailed : End::kSkipped, code);
}

// `next` moves on to the first item that has not begun.
void PlanProgram::SkipBegun(Loop& loop, const ActivityTable& activities) {
  const auto has_begun = [&activities](const Item& item) {
    return item.activity != kNoActivity &&
           activities.at(item.activity).status != EntityStatus::kAbsent;
  };
  while (loop.next < loop.units.size() && has_begun(loop.units[loop.next])) ++loop.next;
}

void PlanProgram::AskForRetry(const UnitKey& key) {
  if (key.role == UnitKey::Role::kItem) {
    loops_.at(key.step).again.insert(key.item);
    loops_changed_.insert(key.step);
  } else {
    retry_ready_.insert(key);
  }
}

void PlanProgram::TakeOut(const UnitKey& key) {
  aside_.erase(key);
  if (key.role == UnitKey::Role::kStep) ready_.erase(PlaceOf(key.step));
  if (key.role == UnitKey::Role::kItem) loops_.at(key.step).again.erase(key.item);
  retry_ready_.erase(key);
}

void PlanProgram::SetAside(ActivityNo no) {
  const UnitKey key = KeyOf(no);
  TakeOut(key);
  aside_.insert(key);
}

void PlanProgram::PutBack(ActivityNo no) {
  const UnitKey key = KeyOf(no);
  if (aside_.erase(key) == 0) return;
  const Activity* activity = Find(key);
  if (activity != nullptr && activity->failed()) return AskForRetry(key);
  const bool begun = activity != nullptr && activity->status != EntityStatus::kAbsent;
  if (key.role == UnitKey::Role::kStep && !begun) ready_.insert(PlaceOf(key.step));
}

void PlanProgram::Settle(StepIndex step, End end, const std::string& code) {
  if (steps_[step].settled) return;
  steps_[step].settled = true;
  EVERSTEP_ASSERT(open_steps_ > 0);
  --open_steps_;
  for (const StepIndex dependant : plan_->steps[step].dependants) {
    Step& waiting = steps_[dependant];
    EVERSTEP_ASSERT(waiting.open > 0);
    --waiting.open;
    if (end == End::kThrough) ++waiting.through;
    if (end == End::kFailed) waiting.dependency_failed = true;
    if (end == End::kSkipped) waiting.skip_code = code;
    if (waiting.open > 0 || StatusOf(dependant) != EntityStatus::kAbsent) continue;
    if (waiting.dependency_failed) {
      doomed_.insert(dependant);
    } else {
      ready_.insert(PlaceOf(dependant));
    }
  }
  SettleFallbacks(step, end);
}

// A fallback's end stands for the end of the step that it replaces; one that is not needed goes.
void PlanProgram::SettleFallbacks(StepIndex step, End end) {
  const PlanStep& spec = plan_->steps[step];
  const bool unused = spec.fallback != kNoStep && !steps_[spec.fallback].fallback_needed;
  if (unused && !steps_[spec.fallback].settled) ready_.insert(PlaceOf(spec.fallback));
  if (spec.fallback_of != kNoStep && steps_[step].fallback_needed) {
    const Activity* activity = Find({step});
    Settle(spec.fallback_of, end, activity == nullptr ? std::string() : activity->error_code);
  }
}

// ---- checkpoints

void PlanProgram::Encode(StateEncoder& codec) const {
  // What waits for a slot in this process is ready for the next one.
  std::set<Place> ready = ready_;
  std::set<UnitKey> retry_ready = retry_ready_;
  std::map<StepIndex, std::set<std::uint32_t>> again;
  for (const auto& [step, loop] : loops_) again[step] = loop.again;
  for (const UnitKey& key : aside_) {
    const Activity* activity = Find(key);
    const bool failed = activity != nullptr && activity->failed();
    const bool begun = activity != nullptr && activity->status != EntityStatus::kAbsent;
    if (failed && key.role == UnitKey::Role::kItem) again[key.step].insert(key.item);
    if (failed && key.role != UnitKey::Role::kItem) retry_ready.insert(key);
    if (!begun && key.role == UnitKey::Role::kStep) ready.insert(PlaceOf(key.step));
  }
  codec(static_cast<std::uint64_t>(steps_.size()));
  for (const Step& step : steps_) codec(step);
  EVERSTEP_ASSERT(again.size() == loops_.size());
  codec(static_cast<std::uint64_t>(again.size()));
  for (const auto& [step, items] : again) {
    const Loop& loop = loops_.at(step);
    std::vector<bool> settled;
    for (const Item& item : loop.units) settled.push_back(item.settled);
    codec(step, Value::List(loop.items), settled, items, loop.next, loop.running, loop.unsettled,
          loop.done, loop.failed, loop.stopped);
  }
  codec(open_steps_, ready, doomed_, retry_ready, loops_open_, succeeded_);
}

void PlanProgram::Decode(StateDecoder& codec) {
  std::uint64_t count = 0;
  codec(count);
  if (count != steps_.size()) return codec.Fail();
  for (Step& step : steps_) codec(step);
  codec(count);
  for (std::uint64_t i = 0; i < count && codec.ok(); ++i) {
    StepIndex step = kNoStep;
    Value items;
    std::vector<bool> settled;
    Loop loop;
    codec(step, items, settled, loop.again, loop.next, loop.running, loop.unsettled, loop.done,
          loop.failed, loop.stopped);
    const bool valid = step < steps_.size() && items.kind() == Value::Kind::kList &&
                       settled.size() == items.list().size() && loop.next <= settled.size() &&
                       (loop.again.empty() || *loop.again.rbegin() < settled.size());
    if (!codec.ok() || !valid) return codec.Fail();
    loop.items = items.list();
    for (const bool flag : settled) loop.units.push_back({kNoActivity, flag});
    loops_[step] = std::move(loop);
  }
  ready_.clear();
  codec(open_steps_, ready_, doomed_, retry_ready_, loops_open_, succeeded_);
  const auto is_known = [this](StepIndex step) { return step < steps_.size(); };
  const bool valid =
      std::ranges::all_of(ready_, is_known, &Place::step) &&
      std::ranges::all_of(doomed_, is_known) &&
      std::ranges::all_of(retry_ready_, is_known, &UnitKey::step) &&
      std::ranges::all_of(loops_open_, [this](StepIndex step) { return loops_.contains(step); }) &&
      std::ranges::all_of(succeeded_, is_known, &UnitKey::step);
  if (!codec.ok() || !valid) return codec.Fail();
  loops_changed_ = loops_open_;
  if (state_.activities.size() > 0) {
    Register(static_cast<ActivityNo>(state_.activities.size() - 1));
  }
}

}  // namespace everstep
