#pragma once

#include <span>

#include "event/event_type.h"
#include "event/field_rule.h"

namespace everstep {

// The rule for the payload of an event in the native and contract dialects. Other members are
// allowed and kept. Lives as long as the process.
const ObjectRule& PayloadRule(EventType type);

// The members of RunStarted's payload that the contract also allows in the envelope, where all of
// them are required.
std::span<const FieldRule> RunStartedFlatMembers();

}  // namespace everstep
