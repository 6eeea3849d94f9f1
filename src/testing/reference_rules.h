#pragma once

#include <optional>

#include "testing/reference_log.h"

// The rules of runs, steps, hooks …, as the reference log knows them: a second statement of what
// machine/ decides.
namespace everstep::reference {

using Run = ReferenceLog::Run;
using Thing = ReferenceLog::Thing;

bool HasEnded(const Run& run);

// The event that an order asks for, with what the order leaves open.
Event EventOf(const Run& run, const Thing& thing, const EventWrite& write);
// Why the event may not happen to `thing`; nothing: it may.
std::optional<ErrorCode> Judge(const Run& run, const Thing& thing, const Event& event);
// Makes it happen.
void Apply(Run& run, const Event& event);

}  // namespace everstep::reference
