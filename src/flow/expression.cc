#include "flow/expression.h"

#include <utility>

#include "base/assert.h"
#include "flow/expression_program.h"

namespace everstep {

struct Expression::Program {
  ExpressionProgram program;
};

Result<Expression> Expression::Parse(std::string_view text, ExpressionFault* fault) {
  ExpressionFault found;
  Result<ExpressionProgram> program = ParseExpression(text, found);
  if (!program) {
    if (fault != nullptr) *fault = std::move(found);
    return program.error();
  }
  Expression expression;
  expression.program_ = std::make_shared<const Program>(Program{*std::move(program)});
  return expression;
}

Result<Value> Expression::Evaluate(const Names& names, const ExpressionLimits& limits) const {
  EVERSTEP_ASSERT(program_ != nullptr);
  return EvaluateProgram(program_->program, names, limits);
}

const std::vector<Expression::Path>& Expression::paths() const {
  EVERSTEP_ASSERT(program_ != nullptr);
  return program_->program.paths;
}

}  // namespace everstep
