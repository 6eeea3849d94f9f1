#include "run/plan_program.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/content_count.h"
#include "base/sha256.h"
#include "flow/duration.h"
#include "run/plan_names.h"

namespace everstep {
namespace {

constexpr std::size_t kListBytesMax = 1 << 20;  // of a loop, rendered
constexpr std::size_t kItemsMax = 100'000;

std::optional<Milliseconds> DurationOf(const Value& value) {
  if (value.kind() == Value::Kind::kText) return ParseDuration(value.text());
  if (!value.is_number()) return std::nullopt;
  return ParseDuration(ToText(value));
}

// The name under which a run's origin knows the digest of a child's plan.
std::string NameOf(const ChildPlan& child) {
  return child.reference.empty() ? ToHex(Sha256(child.document)) : child.reference;
}

// An estimate of a plan's memory. Texts, and lists of short values, may be most of it.
std::uint64_t BytesOf(const Plan& plan) {
  constexpr std::uint64_t kPerStep = 1'300;
  constexpr std::uint64_t kPerValue = kContentValueBytes / 2;
  return plan.steps.size() * kPerStep + 2 * plan.document.size() +
         CountValues(ContentKind::kYaml, plan.document) * kPerValue;
}

// Only inputs can be named: the run does not exist yet.
class InputNames final : public Names {
 public:
  explicit InputNames(const Value& inputs) : inputs_(inputs) {}
  Value Find(std::string_view name) const override {
    return name == "inputs" || name == "params" ? inputs_ : Value();
  }

 private:
  const Value& inputs_;
};

}  // namespace

PlanProgram::PlanProgram(std::shared_ptr<const Plan> plan, ExecutionState& state)
    : plan_(std::move(plan)),
      state_(state),
      steps_(plan_->steps.size()),
      open_steps_(static_cast<std::uint32_t>(plan_->steps.size())) {
  for (StepIndex step = 0; step < plan_->steps.size(); ++step) {
    const PlanStep& spec = plan_->steps[step];
    steps_[step].open = static_cast<std::uint32_t>(spec.depends_on.size());
    if (spec.depends_on.empty() && spec.fallback_of == kNoStep) ready_.insert(PlaceOf(step));
  }
}

// ---- units

const Activity* PlanProgram::Find(const UnitKey& key) const {
  if (key.step >= steps_.size()) return nullptr;
  ActivityNo no = kNoActivity;
  switch (key.role) {
    case UnitKey::Role::kStep:
      no = steps_[key.step].activity;
      break;
    case UnitKey::Role::kItem: {
      const auto loop = loops_.find(key.step);
      if (loop == loops_.end() || key.item >= loop->second.units.size()) return nullptr;
      no = loop->second.units[key.item].activity;
      break;
    }
    case UnitKey::Role::kUndo: {
      const auto unit = undo_.find(key);
      if (unit != undo_.end()) no = unit->second;
      break;
    }
  }
  return no == kNoActivity ? nullptr : &state_.activities.at(no);
}

bool PlanProgram::Exists(const UnitKey& key) const {
  if (key.step == kNoStep) return false;
  if (key.role != UnitKey::Role::kItem) return true;
  const auto loop = loops_.find(key.step);
  return loop != loops_.end() && key.item < loop->second.units.size();
}

ActivityNo PlanProgram::NoOf(const UnitKey& key) {
  EVERSTEP_ASSERT(Exists(key));
  if (key.role == UnitKey::Role::kStep && steps_[key.step].activity != kNoActivity) {
    return steps_[key.step].activity;
  }
  const ActivityNo no = state_.activities.Add(IdOf(key));
  Register(no);
  EVERSTEP_ASSERT(KeyOf(no) == key);
  return no;
}

ActivityNo PlanProgram::Named(std::string_view id) {
  const UnitKey key = UnitNamed(*plan_, id);
  if (!Exists(key)) return kNoActivity;
  // Compensation is known by its events only.
  if (key.role == UnitKey::Role::kUndo && Find(key) == nullptr) return kNoActivity;
  return NoOf(key);
}

EntityStatus PlanProgram::StatusOf(StepIndex step) const {
  const Activity* activity = Find({step});
  return activity == nullptr ? EntityStatus::kAbsent : activity->status;
}

bool PlanProgram::IsSettled(const UnitKey& key) const {
  switch (key.role) {
    case UnitKey::Role::kStep:
      return steps_[key.step].settled;
    case UnitKey::Role::kItem:
      return loops_.at(key.step).units[key.item].settled;
    case UnitKey::Role::kUndo:
      break;
  }
  return false;
}

bool PlanProgram::FellBack(StepIndex step) const {
  const StepIndex fallback = plan_->steps[step].fallback;
  return fallback != kNoStep && steps_[fallback].fallback_needed;
}

const Action& PlanProgram::ActionOf(const UnitKey& key) const {
  const PlanStep& step = plan_->steps[key.step];
  EVERSTEP_ASSERT(key.role != UnitKey::Role::kUndo || step.compensate);
  return key.role == UnitKey::Role::kUndo ? *step.compensate : step.action;
}

Work PlanProgram::WorkOf(const UnitKey& key) const {
  if (key.role == UnitKey::Role::kUndo) return Work::kTool;
  if (IsLoop(key)) return Work::kScope;
  const PlanStep& step = plan_->steps[key.step];
  if (step.child) return Work::kChild;
  if (!step.wait_for) return Work::kTool;
  const bool hook = step.wait_for->kind == WaitFor::Kind::kHook ||
                    step.wait_for->kind == WaitFor::Kind::kApproval;
  return hook ? Work::kHook : Work::kTimer;
}

Work PlanProgram::WorkOf(ActivityNo no) const { return WorkOf(KeyOf(no)); }

bool PlanProgram::IsCompensation(ActivityNo no) const {
  return KeyOf(no).role == UnitKey::Role::kUndo;
}

bool PlanProgram::MayRetry(ActivityNo no) const {
  const UnitKey key = KeyOf(no);
  if (IsLoop(key)) return false;
  // A loop that is about to fail does not wait for further attempts.
  return key.role != UnitKey::Role::kItem || !loops_.at(key.step).stopped;
}

// ---- what comes next

bool PlanProgram::Next(Commands& commands) {
  if (NextDoomed(commands)) return true;
  if (commands.may_start()) {
    if (!ready_.empty()) {
      StartOrSkip(commands, ready_.begin()->step);
      return true;
    }
    if (NextRetry(commands)) return true;
  }
  if (NextOfLoops(commands)) return true;
  if (open_steps_ > 0) return false;
  Complete(commands);
  return true;
}

bool PlanProgram::NextWhileEnding(Commands& commands) {
  if (state_.run.ending == RunProgress::Ending::kFailing && NextDoomed(commands)) return true;
  return CloseIdleLoop(commands);
}

bool PlanProgram::NextDoomed(Commands& commands) {
  if (doomed_.empty()) return false;
  Skip(commands, *doomed_.begin(), "DEPENDENCY_FAILED", "a step it depends on failed");
  return true;
}

bool PlanProgram::NextRetry(Commands& commands) {
  if (retry_ready_.empty()) return false;
  commands.Schedule(NoOf(*retry_ready_.begin()));
  return true;
}

void PlanProgram::StartOrSkip(Commands& commands, StepIndex step) {
  const PlanStep& spec = plan_->steps[step];
  if (spec.fallback_of != kNoStep && !steps_[step].fallback_needed) {
    return Skip(commands, step, "CONDITION_FALSE", "the step it stands in for did not need it");
  }
  if (!spec.depends_on.empty() && steps_[step].through == 0) {
    return Skip(commands, step, steps_[step].skip_code, "all steps it depends on were skipped");
  }
  if (!spec.when.empty()) {
    const auto wanted = spec.when.Render(PlanNames(*this));
    if (!wanted) return commands.FailToStart(NoOf({step}), wanted.error());
    if (!IsTrue(*wanted)) {
      return Skip(commands, step, "CONDITION_FALSE", "its condition is false");
    }
  }
  commands.Schedule(NoOf({step}));
}

void PlanProgram::Skip(Commands& commands, StepIndex step, std::string_view code,
                       std::string_view reason) {
  commands.Skip(NoOf({step}), code, reason);
}

void PlanProgram::Complete(Commands& commands) {
  std::string result;
  if (!plan_->outputs.empty()) {
    const auto rendered = plan_->outputs.Render(PlanNames(*this));
    if (!rendered) {
      return commands.Fail(Name(rendered.error().code), "outputs: " + rendered.error().message,
                           "outputs");
    }
    result = ToJson(*rendered);
  }
  commands.Complete(result);
}

Program::Undo PlanProgram::NextUndo() {
  undo_next_ = std::min(undo_next_, succeeded_.size());
  for (; undo_next_ > 0; --undo_next_) {
    const UnitKey& done = succeeded_[undo_next_ - 1];
    const UnitKey key{done.step, UnitKey::Role::kUndo, done.item};
    const Activity* activity = Find(key);
    if (activity == nullptr || activity->status == EntityStatus::kAbsent) {
      return {Undo::What::kStart, NoOf(key)};
    }
    const bool over = activity->status == EntityStatus::kSuccess ||
                      activity->status == EntityStatus::kSkipped ||
                      (activity->failed() && !activity->will_retry);
    if (over) continue;
    // Its delay, or its slot.
    if (activity->failed() && !retry_ready_.contains(key)) return {Undo::What::kWait, kNoActivity};
    return {Undo::What::kStart, NoOf(key)};
  }
  return {};
}

// ---- attempts

Result<std::string> PlanProgram::ConcurrencyKeyOf(ActivityNo no) const {
  const UnitKey key = KeyOf(no);
  const Template& source = ActionOf(key).concurrency_key;
  if (source.empty()) return std::string();
  const auto rendered = source.Render(PlanNames(*this).ForUnit(key));
  if (!rendered) return rendered.error();
  return ToText(*rendered);
}

Result<AttemptSpec> PlanProgram::AttemptOf(ActivityNo no, const AttemptContext& context) const {
  const UnitKey key = KeyOf(no);
  const Work work = WorkOf(key);
  if (work == Work::kScope) return LoopOf(key);
  if (work == Work::kTimer) return TimerOf(key, context.now);
  if (work == Work::kHook) return HookOf(key);
  AttemptSpec attempt;
  const Action& action = ActionOf(key);
  PlanNames names(*this);
  names.ForUnit(key).WithSecrets(context.secret_prefix);
  if (!action.inputs.empty()) {
    auto inputs = action.inputs.Render(names);
    if (!inputs) return inputs.error();
    attempt.inputs = *std::move(inputs);
  }
  if (work == Work::kChild) {
    attempt.child = ChildOf(key);
    return attempt;
  }
  if (!action.idempotency_key.empty()) {
    const auto own = action.idempotency_key.Render(PlanNames(*this).ForUnit(key));
    if (!own) return own.error();
    attempt.idempotency_key = ToText(*own);
  }
  return attempt;
}

ProgramRef PlanProgram::ChildOf(const UnitKey& key) const {
  const auto& children = state_.run.origin.children;
  const auto known = children.find(NameOf(*plan_->steps[key.step].child));
  return {std::string(kPlanFormat), known == children.end() ? std::string() : known->second};
}

Result<AttemptSpec> PlanProgram::TimerOf(const UnitKey& key, Timestamp now) const {
  const WaitFor& wait = *plan_->steps[key.step].wait_for;
  const auto when = wait.when.Render(PlanNames(*this).ForUnit(key));
  if (!when) return when.error();
  AttemptSpec attempt;
  if (wait.kind == WaitFor::Kind::kDuration) {
    const auto duration = DurationOf(*when);
    if (!duration) {
      return Error{
          ErrorCode::kInvalidInput, "waitFor.duration is not a duration: " + ToJson(*when), {}};
    }
    attempt.due_at = now + *duration;
    return attempt;
  }
  const auto time =
      when->kind() == Value::Kind::kText ? ParseTimestamp(when->text()) : std::nullopt;
  if (!time) {
    return Error{
        ErrorCode::kInvalidInput, "waitFor.until is not an RFC 3339 time: " + ToJson(*when), {}};
  }
  attempt.due_at = *time;
  return attempt;
}

Result<AttemptSpec> PlanProgram::HookOf(const UnitKey& key) const {
  const WaitFor& wait = *plan_->steps[key.step].wait_for;
  const PlanNames names = PlanNames(*this).ForUnit(key);
  HookAsk ask;
  ask.approval = wait.kind == WaitFor::Kind::kApproval;
  ask.timeout = wait.timeout;
  if (!wait.token.empty()) {
    const auto rendered = wait.token.Render(names);
    if (!rendered) return rendered.error();
    ask.token = ToText(*rendered);
  }
  if (!wait.prompt.empty()) {
    const auto rendered = wait.prompt.Render(names);
    if (!rendered) return rendered.error();
    ask.prompt = ToText(*rendered);
  }
  AttemptSpec attempt;
  attempt.hook = std::move(ask);
  return attempt;
}

Result<AttemptSpec> PlanProgram::LoopOf(const UnitKey& key) const {
  const Foreach& foreach = *plan_->steps[key.step].foreach;
  const auto items = foreach.items.Render(PlanNames(*this));
  if (!items) return items.error();
  if (items->kind() != Value::Kind::kList) {
    return Error{
        ErrorCode::kExpressionFailed, "foreach needs a list, this is " + ToJson(*items), {}};
  }
  const std::string list = ToJson(*items);
  if (list.size() > kListBytesMax) {
    return Error{ErrorCode::kInvalidInput,
                 "the list has " + std::to_string(list.size()) + " bytes; at most " +
                     std::to_string(kListBytesMax) + " are recorded, keep more in an artifact",
                 {}};
  }
  if (items->list().size() > kItemsMax) {
    return Error{ErrorCode::kInvalidInput,
                 "the list has " + std::to_string(items->list().size()) + " items; at most " +
                     std::to_string(kItemsMax) + " are looped over",
                 {}};
  }
  AttemptSpec attempt;
  attempt.payload = R"({"input":{"items":)" + list + "}}";
  return attempt;
}

Result<std::string> PlanProgram::ResultOf(ActivityNo no, std::string returned) const {
  const UnitKey key = KeyOf(no);
  const Template& outputs = plan_->steps[key.step].outputs;
  if (outputs.empty() || key.role == UnitKey::Role::kUndo) return returned;
  auto value = ValueFromJson(returned.empty() ? "null" : returned);
  Result<Value> shaped =
      value ? outputs.Render(PlanNames(*this).ForUnit(key).WithResult(std::move(*value)))
            : std::move(value);
  if (!shaped) {
    return Error{ErrorCode::kExpressionFailed, "outputs: " + shaped.error().message, {}};
  }
  return ToJson(*shaped);
}

// ---- orders of operators

std::optional<OrderRefusal> PlanProgram::Refusal(ActivityNo no, StepOrder order) const {
  const UnitKey key = KeyOf(no);
  const Activity& activity = state_.activities.at(no);
  const bool undo_failed =
      key.role == UnitKey::Role::kUndo && activity.failed() && !activity.will_retry;
  const bool over = IsSettled(key) || undo_failed || activity.status == EntityStatus::kSuccess ||
                    activity.status == EntityStatus::kSkipped;
  if (over) {
    return OrderRefusal{ErrorCode::kStepTerminal, "step " + activity.id + " has come to its end"};
  }
  if (key.role == UnitKey::Role::kStep && FellBack(key.step)) {
    const StepIndex fallback = plan_->steps[key.step].fallback;
    return OrderRefusal{ErrorCode::kStepTerminal, "step " + activity.id + " has failed and " +
                                                      IdOf({fallback}) + " stands in for it"};
  }
  const auto loop = key.role == UnitKey::Role::kStep ? loops_.find(key.step) : loops_.end();
  if (order == StepOrder::kSkip && loop != loops_.end() && loop->second.unsettled > 0) {
    return OrderRefusal{ErrorCode::kStepNotTerminal,
                        "step " + activity.id + " is a loop under way; skip its items"};
  }
  return std::nullopt;
}

bool PlanProgram::MayRevive(ActivityNo no) const {
  const UnitKey key = KeyOf(no);
  if (!Exists(key) || IsSettled(key)) return false;
  return key.role != UnitKey::Role::kStep || !FellBack(key.step);
}

void PlanProgram::Leave(ActivityNo no, Commands& commands) {
  const UnitKey key = KeyOf(no);
  if (IsLoop(key)) WithdrawItems(commands, key.step);
}

// ---- results, for expressions

const Value& PlanProgram::LoopItem(const UnitKey& key) const {
  EVERSTEP_ASSERT(key.role != UnitKey::Role::kStep &&
                  Exists({key.step, UnitKey::Role::kItem, key.item}));
  return loops_.at(key.step).items[key.item];
}

Value PlanProgram::ResultOfStep(StepIndex step) const {
  while (FellBack(step)) step = plan_->steps[step].fallback;
  const Activity* activity = Find({step});
  if (activity == nullptr || activity->status != EntityStatus::kSuccess) return {};
  const auto loop = loops_.find(step);
  if (loop == loops_.end() || loop->second.units.empty()) return activity->result.value();
  // The items' own events hold the results. The list is made once, however often it is named.
  if (loop->second.results.undefined()) {
    ValueList results;
    results.reserve(loop->second.units.size());
    for (std::uint32_t item = 0; item < loop->second.units.size(); ++item) {
      results.push_back(ResultOfUnit(Find({step, UnitKey::Role::kItem, item})));
    }
    loop->second.results = Value::List(std::move(results));
  }
  return loop->second.results;
}

// ---- a plan as a compiled program

CompiledPlan::CompiledPlan(std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)),
      ref_{std::string(kPlanFormat), ToHex(plan_->sha256)},
      bytes_(BytesOf(*plan_)) {}

Result<Value> CompiledPlan::CheckInputs(std::string_view given) const {
  return everstep::CheckInputs(*plan_, given);
}

Result<std::string> CompiledPlan::ConcurrencyKeyFor(const Value& inputs) const {
  if (plan_->concurrency_key.empty()) return std::string();
  const auto key = plan_->concurrency_key.Render(InputNames(inputs));
  if (!key) return key.error();
  return ToText(*key);
}

// About a third of a step's state is there before it begins.
std::uint64_t CompiledPlan::bytes_per_run() const { return plan_->steps.size() * 200; }

std::vector<CompiledProgram::Child> CompiledPlan::children() const {
  std::vector<Child> children;
  for (const PlanStep& step : plan_->steps) {
    if (!step.child) continue;
    children.push_back(
        {NameOf(*step.child), {}, step.child->reference, step.child->document, step.child->sha256});
  }
  return children;
}

std::shared_ptr<const Plan> PlanOf(const CompiledProgram& program) {
  const auto* plan = dynamic_cast<const CompiledPlan*>(&program);
  return plan == nullptr ? nullptr : plan->plan();
}

std::unique_ptr<Program> CompiledPlan::Instantiate(ExecutionState& state) const {
  return std::make_unique<PlanProgram>(plan_, state);
}

}  // namespace everstep
