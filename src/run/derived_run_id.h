#pragma once

#include <string>

#include "event/event.h"

namespace everstep {

// The id of a run as a function of the text: a UUID of version 8 (IsDerivedRunId).
RunId DerivedRunId(const std::string& text);

// As earlier versions derived it, as a UUID of version 4, which anybody may also choose.
RunId FormerDerivedRunId(const std::string& text);

}  // namespace everstep
