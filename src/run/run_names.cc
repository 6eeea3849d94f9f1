#include "run/run_names.h"

#include <map>
#include <memory>
#include <utility>

#include "base/timestamp.h"
#include "flow/operations_done.h"

namespace everstep {
namespace {

constexpr std::uint32_t kNoItem = UINT32_MAX;
constexpr std::size_t kResultsKept = 8;  // each may have megabytes

Value FromJson(const std::string& json) {
  if (json.empty()) return Value::Null();
  AddOperations(OperationsOfJson(json.size()));
  auto value = ValueFromJson(json);
  return value ? std::move(*value) : Value::Null();
}

Value ErrorOf(const Unit& unit) {
  if (unit.status != EntityStatus::kFailed) return Value::Null();
  return Value::Map(ValueMap{{"code", Value::Text(unit.error_code)},
                             {"message", Value::Text(unit.error_message)}});
}

Value ItemResult(const Unit& unit) {
  if (unit.status == EntityStatus::kSuccess) return FromJson(unit.result);
  if (unit.status != EntityStatus::kFailed) return Value::Null();
  return Value::Map(ValueMap{{"error", ErrorOf(unit)}});
}

}  // namespace

// A result is JSON that has to be parsed: once, however often a template names it.
class ReadResults {
 public:
  // `item`: of a loop, or kNoItem.
  Value Get(const PlanProgress& progress, StepIndex step, std::uint32_t item) {
    const auto known = values_.find({step, item});
    if (known != values_.end()) return known->second;
    Value value = item == kNoItem ? ResultOf(progress, step)
                                  : ItemResult(progress.loops.at(step).units[item]);
    if (values_.size() < kResultsKept) values_.emplace(std::pair(step, item), value);
    return value;
  }

 private:
  std::map<std::pair<StepIndex, std::uint32_t>, Value> values_;
};

namespace {

// One step: result (also as outputs), status, attempt, error.
class StepNames final : public Lookup {
 public:
  // `item`: the one that is being undone, or kNoItem.
  StepNames(const PlanProgress& progress, std::shared_ptr<ReadResults> results, StepIndex step,
            std::uint32_t item)
      : progress_(progress), results_(std::move(results)), step_(step), item_(item) {}

  Value Get(std::string_view key) const override {
    const Unit& unit = progress_.steps[step_];
    if (key == "result" || key == "outputs") return Result();
    if (key == "status") return Value::Text(std::string(Name(unit.status)));
    if (key == "attempt") return Value::Int(unit.logical_attempt);
    if (key == "error") return ErrorOf(unit);
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
  Value Result() const { return results_->Get(progress_, step_, item_); }

  const PlanProgress& progress_;
  const std::shared_ptr<ReadResults> results_;
  const StepIndex step_;
  const std::uint32_t item_;
};

class AllStepNames final : public Lookup {
 public:
  AllStepNames(const PlanProgress& progress, std::shared_ptr<ReadResults> results,
               const UnitKey& undone)
      : progress_(progress), results_(std::move(results)), undone_(undone) {}

  Value Get(std::string_view key) const override {
    const StepIndex step = progress_.plan->Find(key);
    if (step == kNoStep) return {};
    const bool own = undone_.role == UnitKey::Role::kUndo && undone_.step == step &&
                     progress_.plan->steps[step].foreach.has_value();
    return Value::Map(
        std::make_shared<StepNames>(progress_, results_, step, own ? undone_.item : kNoItem));
  }
  ValueMap Members() const override {
    ValueMap members;
    for (const PlanStep& step : progress_.plan->steps) {
      members.emplace_back(step.step_id, Get(step.step_id));
    }
    return members;
  }

 private:
  const PlanProgress& progress_;
  const std::shared_ptr<ReadResults> results_;
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

Value ResultOf(const PlanProgress& progress, StepIndex step) {
  while (progress.FellBack(step)) step = progress.plan->steps[step].fallback;
  const Unit& unit = progress.steps[step];
  if (unit.status != EntityStatus::kSuccess) return {};
  const auto loop = progress.loops.find(step);
  const bool looped = loop != progress.loops.end() && !loop->second.units.empty();
  if (!looped) return FromJson(unit.result);
  ValueList results;
  results.reserve(loop->second.units.size());
  for (const Unit& item : loop->second.units) results.push_back(ItemResult(item));
  return Value::List(std::move(results));
}

RunNames::RunNames(const PlanProgress& progress, const RunId& run_id, const RunScope& scope)
    : progress_(progress), run_id_(run_id), scope_(scope) {}

RunNames& RunNames::ForUnit(const UnitKey& key) {
  unit_ = key;
  const auto& foreach = progress_.plan->steps[key.step].foreach;
  if (key.role == UnitKey::Role::kStep || !foreach) return *this;
  item_name_ = foreach->item_name;
  index_name_ = foreach->index_name;
  item_ = progress_.loops.at(key.step).items[key.item];
  index_ = Value::Int(key.item);
  return *this;
}

RunNames& RunNames::WithResult(Value result) {
  result_ = std::move(result);
  return *this;
}

RunNames& RunNames::WithSecrets(std::string prefix) {
  secret_prefix_ = std::move(prefix);
  return *this;
}

Value RunNames::Find(std::string_view name) const {
  if (!item_name_.empty() && name == item_name_) return item_;
  if (!index_name_.empty() && name == index_name_) return index_;
  if (name == "inputs" || name == "params") return progress_.inputs;
  if (name == "steps") {
    if (!results_) results_ = std::make_shared<ReadResults>();
    return Value::Map(std::make_shared<AllStepNames>(progress_, results_, unit_));
  }
  if (name == "run") return Run();
  if (name == "result") return result_;
  if (name == "secrets") return Value::Map(std::make_shared<SecretNames>(secret_prefix_));
  return {};
}

Value RunNames::Run() const {
  return Value::Map(ValueMap{
      {"id", Value::Text(run_id_.value())},
      {"tenantId", Value::Text(scope_.tenant_id)},
      {"projectId", Value::Text(scope_.project_id)},
      {"environmentId", Value::Text(scope_.environment_id)},
      {"planId", Value::Text(scope_.plan_id)},
      {"planVersion", Value::Text(scope_.plan_version)},
      {"createdAt", Value::Text(FormatTimestamp(progress_.created_at))},
      {"startedAt", Value::Text(FormatTimestamp(progress_.started_at))},
      {"triggeredBy", Value::Text(progress_.origin.triggered_by)},
  });
}

}  // namespace everstep
