#pragma once

#include <optional>

#include "testing/reference_log.h"

// The rules of runs, steps, hooks … for the reference log: a second statement of what machine/
// decides.
namespace everstep::reference {

using Run = ReferenceLog::Run;
using Thing = ReferenceLog::Thing;

bool HasEnded(const Run& run);

// The event that an order requests, with omitted members filled in.
Event EventOf(const Run& run, const Thing& thing, const EventWrite& write);
// Returns why the event is not allowed for `thing`, or nothing if it is.
std::optional<ErrorCode> Judge(const Run& run, const Thing& thing, const Event& event);
// Applies an event.
void Apply(Run& run, const Event& event);

}  // namespace everstep::reference
