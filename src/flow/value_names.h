#pragma once

#include <string_view>
#include <utility>

#include "base/value.h"
#include "flow/expression.h"

namespace everstep {

// Exposes the members of a map as the names of an expression.
class ValueNames final : public Names {
 public:
  explicit ValueNames(Value map) : map_(std::move(map)) {}

  Value Find(std::string_view name) const override { return map_.Get(name); }

 private:
  Value map_;
};

}  // namespace everstep
