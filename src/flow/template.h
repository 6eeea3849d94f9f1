#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "flow/expression.h"

namespace everstep {

// A value with holes: any string in it may contain {{ expressions }}. Compiled once, rendered many
// times. A string that is a single expression (and white space) renders to the expression's value
// and keeps its type; in other strings each hole becomes text. Keys of maps may contain holes too
// and must render to text. Immutable.
class Template {
 public:
  Template() = default;  // renders as undefined

  // A fault: the JSON pointer of the string inside `source`, and the offset in that string. Compile
  // reports all faults at once.
  struct Fault {
    std::string pointer;
    std::size_t offset = 0;
    std::string message;
  };
  static Result<Template> Compile(const Value& source, std::vector<Fault>* faults = nullptr);

  // Like `Compile`, for a string that is one expression with or without braces, as in `when` and
  // `foreach`.
  static Result<Template> Condition(std::string_view text, std::vector<Fault>* faults = nullptr);

  // Deterministic: equal names give equal results. Parts without holes are returned unchanged.
  // Returns kExpressionFailed if a hole in a larger text is undefined (the message names it), or if
  // the work exceeds kTemplateOperationsMax or `limits`.
  Result<Value> Render(const Names& names, const ExpressionLimits& limits = {}) const;

  bool empty() const { return root_ == nullptr; }
  bool constant() const;  // contains no expression
  const std::vector<Expression::Path>& paths() const;

 private:
  struct Node;
  class Compiler;

  static Result<Template> Finish(Compiler& compiler, Node node, std::vector<Fault>* faults);

  std::shared_ptr<const Node> root_;
};

}  // namespace everstep
