#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "flow/plan.h"

namespace everstep {

// What runs in a run of a plan: a step, one item of a loop, or what undoes a step.
struct UnitKey {
  enum class Role : std::uint8_t { kStep, kItem, kUndo };
  StepIndex step = kNoStep;
  Role role = Role::kStep;
  std::uint32_t item = 0;  // kItem, and kUndo of an item

  template <typename Codec, typename Self>
  static void Fields(Codec& codec, Self& self) {
    codec(self.step, self.role, self.item);
  }
  auto operator<=>(const UnitKey&) const = default;
};

// "fetch", "fetch:3", "fetch:undo", "fetch:3:undo": the activity id of the unit.
std::string UnitId(const Plan& plan, const UnitKey& key);
// step == kNoStep: the plan has no such unit.
UnitKey UnitNamed(const Plan& plan, std::string_view unit_id);

}  // namespace everstep
