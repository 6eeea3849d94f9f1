#pragma once

#include <array>
#include <string_view>

#include "flow/plan_draft.h"

namespace everstep {

// Fields that a step and its compensation have in common; `kind` and `inputs` apart.
inline constexpr std::array<std::string_view, 9> kActionFields = {
    "timeout",  "heartbeatTimeout", "retryPolicy",    "secretRefs",    "queue",
    "priority", "cancellable",      "concurrencyKey", "idempotencyKey"};

void ReadAction(const MapReader& map, TemplateReader& templates, TemplateRole key_role,
                Action& action);

// A tool's name.
bool ReadKind(const Place& place, std::string& field, PlanFaults& faults);

// What an action without `inputs` is given.
const Template& EmptyMapTemplate();

inline constexpr std::int64_t kPriorityMin = -1000;
inline constexpr std::int64_t kPriorityMax = 1000;
inline constexpr std::int64_t kAttemptsMax = 10'000;

}  // namespace everstep
