#include "run/plan_names.h"

#include <memory>
#include <utility>

#include "base/timestamp.h"

namespace everstep {
namespace {

constexpr std::uint32_t kNoItem = UINT32_MAX;

Value ErrorOf(const Activity* activity) {
  if (activity == nullptr || !activity->failed()) return Value::Null();
  return Value::Map(ValueMap{{"code", Value::Text(activity->error_code)},
                             {"message", Value::Text(activity->error_message)}});
}

// One step: result (also as outputs), status, attempt, error.
class StepNames final : public Lookup {
 public:
  // `item`: the one that is being undone, or kNoItem.
  StepNames(const PlanProgram& program, StepIndex step, std::uint32_t item)
      : program_(program), step_(step), item_(item) {}

  Value Get(std::string_view key) const override {
    const Activity* activity = program_.Find({step_});
    if (key == "result" || key == "outputs") return Result();
    if (key == "status") {
      return Value::Text(
          std::string(Name(activity == nullptr ? EntityStatus::kAbsent : activity->status)));
    }
    if (key == "attempt") {
      return Value::Int(activity == nullptr ? 0 : activity->logical_attempt);
    }
    if (key == "error") return ErrorOf(activity);
    // What the result has can also be named without it.
    return Result().Get(key);
  }
  ValueMap Members() const override {
    return {{"status", Get("status")},
            {"attempt", Get("attempt")},
            {"result", Get("result")},
            {"error", Get("error")}};
  }

 private:
  Value Result() const {
    if (item_ == kNoItem) return program_.ResultOfStep(step_);
    return ResultOfUnit(program_.Find({step_, UnitKey::Role::kItem, item_}));
  }

  const PlanProgram& program_;
  const StepIndex step_;
  const std::uint32_t item_;
};

class AllStepNames final : public Lookup {
 public:
  AllStepNames(const PlanProgram& program, const UnitKey& undone)
      : program_(program), undone_(undone) {}

  Value Get(std::string_view key) const override {
    const StepIndex step = program_.plan().Find(key);
    if (step == kNoStep) return {};
    const bool own = undone_.role == UnitKey::Role::kUndo && undone_.step == step &&
                     program_.plan().steps[step].foreach.has_value();
    return Value::Map(std::make_shared<StepNames>(program_, step, own ? undone_.item : kNoItem));
  }
  ValueMap Members() const override {
    ValueMap members;
    for (const PlanStep& step : program_.plan().steps) {
      members.emplace_back(step.step_id, Get(step.step_id));
    }
    return members;
  }

 private:
  const PlanProgram& program_;
  const UnitKey undone_;
};

class SecretNames final : public Lookup {
 public:
  explicit SecretNames(std::string prefix) : prefix_(std::move(prefix)) {}
  Value Get(std::string_view key) const override {
    return Value::Text(prefix_ + std::string(key) + ";");
  }
  ValueMap Members() const override { return {}; }

 private:
  const std::string prefix_;
};

}  // namespace

Value ResultOfUnit(const Activity* activity) {
  if (activity == nullptr) return Value::Null();
  if (activity->status == EntityStatus::kSuccess) return activity->result.value();
  if (!activity->failed()) return Value::Null();
  return Value::Map(ValueMap{{"error", ErrorOf(activity)}});
}

PlanNames& PlanNames::ForUnit(const UnitKey& key) {
  unit_ = key;
  const auto& foreach = program_.plan().steps[key.step].foreach;
  if (key.role == UnitKey::Role::kStep || !foreach) return *this;
  item_name_ = foreach->item_name;
  index_name_ = foreach->index_name;
  item_ = program_.LoopItem(key);
  index_ = Value::Int(key.item);
  return *this;
}

PlanNames& PlanNames::WithResult(Value result) {
  result_ = std::move(result);
  return *this;
}

PlanNames& PlanNames::WithSecrets(std::string prefix) {
  secret_prefix_ = std::move(prefix);
  return *this;
}

Value PlanNames::Find(std::string_view name) const {
  if (!item_name_.empty() && name == item_name_) return item_;
  if (!index_name_.empty() && name == index_name_) return index_;
  if (name == "inputs" || name == "params") return program_.state().run.inputs;
  if (name == "steps") return Value::Map(std::make_shared<AllStepNames>(program_, unit_));
  if (name == "run") return Run();
  if (name == "result") return result_;
  if (name == "secrets") return Value::Map(std::make_shared<SecretNames>(secret_prefix_));
  return {};
}

Value PlanNames::Run() const {
  const ExecutionState& state = program_.state();
  return Value::Map(ValueMap{
      {"id", Value::Text(state.run_id.value())},
      {"tenantId", Value::Text(state.scope.tenant_id)},
      {"projectId", Value::Text(state.scope.project_id)},
      {"environmentId", Value::Text(state.scope.environment_id)},
      {"planId", Value::Text(state.scope.plan_id)},
      {"planVersion", Value::Text(state.scope.plan_version)},
      {"createdAt", Value::Text(FormatTimestamp(state.run.created_at))},
      {"startedAt", Value::Text(FormatTimestamp(state.run.started_at))},
      {"triggeredBy", Value::Text(state.run.origin.triggered_by)},
  });
}

}  // namespace everstep
