#pragma once

#include <string>

#include "event/event.h"

namespace everstep {

// The run id derived from the text: a UUID of version 8 (IsDerivedRunId).
RunId DerivedRunId(const std::string& text);

// The run id that earlier versions derived: a UUID of version 4, which callers may also choose.
RunId FormerDerivedRunId(const std::string& text);

}  // namespace everstep
