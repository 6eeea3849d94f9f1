#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flow/expression.h"
#include "flow/value.h"

namespace everstep {

// A value with holes: any string in it may have {{ expressions }}. Compiled once, rendered many
// times. A string that is one expression (and white space) keeps the type of its value; in other
// strings each hole becomes text. Keys of maps may have holes too and render to text. Immutable.
class Template {
 public:
  Template() = default;  // renders as undefined

  // The whole fault list at once: each with the JSON pointer of the string inside `source` and the
  // offset in that string.
  struct Fault {
    std::string pointer;
    std::size_t offset = 0;
    std::string message;
  };
  static Result<Template> Compile(const Value& source, std::vector<Fault>* faults = nullptr);

  // As `Compile`, of one string that is an expression with or without its braces: `when`,
  // `foreach`.
  static Result<Template> Condition(std::string_view text, std::vector<Fault>* faults = nullptr);

  // The same result for the same names. Where nothing is rendered the source itself is returned.
  // A hole of a larger text that is undefined is kExpressionFailed and says which; so is more work
  // than kTemplateOperationsMax, or than the limits have left.
  Result<Value> Render(const Names& names, const ExpressionLimits& limits = {}) const;

  bool empty() const { return root_ == nullptr; }
  bool constant() const;  // no expression in it
  const std::vector<Expression::Path>& paths() const;

 private:
  struct Node;
  class Compiler;

  static Result<Template> Finish(Compiler& compiler, Node node, std::vector<Fault>* faults);

  std::shared_ptr<const Node> root_;
};

}  // namespace everstep
