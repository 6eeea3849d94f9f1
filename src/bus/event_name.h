#pragma once

#include <string_view>
#include <utility>

#include "flow/expression.h"

namespace everstep {

// The names visible to expressions of sinks and rules: only `event`.
class EventName final : public Names {
 public:
  explicit EventName(Value event) : event_(std::move(event)) {}
  Value Find(std::string_view name) const override { return name == "event" ? event_ : Value(); }

 private:
  const Value event_;
};

}  // namespace everstep
