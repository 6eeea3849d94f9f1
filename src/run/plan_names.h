#pragma once

#include <string>
#include <string_view>

#include "flow/expression.h"
#include "run/plan_program.h"

namespace everstep {

// What expressions of a plan can name: inputs (params), steps, run, secrets, the item and index of
// a loop, and where it is given the unit's own result. A view: it must not outlive its arguments.
class PlanNames final : public Names {
 public:
  explicit PlanNames(const PlanProgram& program) : program_(program) {}

  // For a unit: an item of a loop has a name. To what undoes an item, the result of its step is
  // that of the item.
  PlanNames& ForUnit(const UnitKey& key);
  PlanNames& WithResult(Value result);
  PlanNames& WithSecrets(std::string prefix);

  Value Find(std::string_view name) const override;

 private:
  Value Run() const;

  const PlanProgram& program_;
  UnitKey unit_;
  std::string_view item_name_;
  std::string_view index_name_;
  Value item_;
  Value index_;
  Value result_;
  std::string secret_prefix_;
};

// What an item of a loop stands for in the loop's result: its own result, or {"error": …}. Null:
// nothing has happened to it.
Value ResultOfUnit(const Activity* activity);

}  // namespace everstep
