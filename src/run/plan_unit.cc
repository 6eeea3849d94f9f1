#include "run/plan_unit.h"

#include <charconv>

#include "base/assert.h"

namespace everstep {
namespace {

constexpr std::string_view kUndoSuffix = ":undo";

bool ReadNumber(std::string_view text, std::uint32_t& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size();
}

}  // namespace

std::string UnitId(const Plan& plan, const UnitKey& key) {
  EVERSTEP_ASSERT(key.step < plan.steps.size());
  const PlanStep& step = plan.steps[key.step];
  std::string id = step.step_id;
  const bool undo = key.role == UnitKey::Role::kUndo;
  if (key.role == UnitKey::Role::kItem || (undo && step.foreach)) {
    id.append(":").append(std::to_string(key.item));
  }
  if (undo) id.append(kUndoSuffix);
  return id;
}

UnitKey UnitNamed(const Plan& plan, std::string_view unit_id) {
  UnitKey key;
  std::string_view rest = unit_id;
  const bool undo = rest.ends_with(kUndoSuffix);
  if (undo) rest.remove_suffix(kUndoSuffix.size());
  const std::size_t colon = rest.rfind(':');
  const bool item = colon != std::string_view::npos;
  if (item && !ReadNumber(rest.substr(colon + 1), key.item)) return key;
  if (undo) {
    key.role = UnitKey::Role::kUndo;
  } else if (item) {
    key.role = UnitKey::Role::kItem;
  }
  const StepIndex step = plan.Find(rest.substr(0, colon));
  if (step == kNoStep) return key;
  // Items are of loops, and what undoes a loop undoes its items.
  const bool looped = plan.steps[step].foreach.has_value();
  if ((item && !looped) || (undo && looped && !item)) return key;
  key.step = step;
  return key;
}

}  // namespace everstep
