#pragma once

#include <array>
#include <string_view>

#include "flow/plan_draft.h"

namespace everstep {

// The fields that a step and its compensation share, except `kind` and `inputs`.
inline constexpr std::array<std::string_view, 9> kActionFields = {
    "timeout",  "heartbeatTimeout", "retryPolicy",    "secretRefs",    "queue",
    "priority", "cancellable",      "concurrencyKey", "idempotencyKey"};

// Reads kActionFields from `map` into `action`. Keys compile with the role `key_role`.
void ReadAction(const MapReader& map, TemplateReader& templates, TemplateRole key_role,
                Action& action);

// Reads the name of a tool into `field`. Returns false and adds a fault if it is invalid.
bool ReadKind(const Place& place, std::string& field, PlanFaults& faults);

// The inputs of an action that has no `inputs`.
const Template& EmptyMapTemplate();

inline constexpr std::int64_t kPriorityMin = -1000;
inline constexpr std::int64_t kPriorityMax = 1000;
inline constexpr std::int64_t kAttemptsMax = 10'000;

}  // namespace everstep
