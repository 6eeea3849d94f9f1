#pragma once

#include <span>

#include "event/event_type.h"
#include "event/field_rule.h"

namespace everstep {

// What the payload of an event holds in the native and contract dialects. Members beyond these are
// kept. Lives as long as the process.
const ObjectRule& PayloadRule(EventType type);

// The members of RunStarted's payload that the contract also allows in the envelope, all of them
// required there.
std::span<const FieldRule> RunStartedFlatMembers();

}  // namespace everstep
