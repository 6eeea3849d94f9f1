#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "flow/expression.h"
#include "run/plan_progress.h"

namespace everstep {

// Results of steps that a RunNames has read. Others that name them again share the values.
class ReadResults;

// What expressions of a plan can name: inputs (params), steps, run, secrets, the item and index of
// a loop, and where it is given the unit's own result. A view: it must not outlive its arguments.
class RunNames final : public Names {
 public:
  RunNames(const PlanProgress& progress, const RunId& run_id, const RunScope& scope);

  // For a unit: an item of a loop has a name. To what undoes an item, the result of its step is
  // that of the item.
  RunNames& ForUnit(const UnitKey& key);
  RunNames& WithResult(Value result);
  RunNames& WithSecrets(std::string prefix);

  Value Find(std::string_view name) const override;

 private:
  Value Run() const;

  const PlanProgress& progress_;
  const RunId& run_id_;
  const RunScope& scope_;
  UnitKey unit_;
  std::string_view item_name_;
  std::string_view index_name_;
  Value item_;
  Value index_;
  Value result_;
  std::string secret_prefix_;
  mutable std::shared_ptr<ReadResults> results_;  // null: none yet
};

// The result of a step: of a loop the list of its items' results, in their order; of a step that
// failed that of its fallback. Undefined: it has none.
Value ResultOf(const PlanProgress& progress, StepIndex step);

}  // namespace everstep
