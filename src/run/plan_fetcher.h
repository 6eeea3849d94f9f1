#pragma once

#include <string>
#include <string_view>

#include "everstep/result.h"

namespace everstep {

// Fetches plans that are referenced by URI. Thread-safe.
class PlanFetcher {
 public:
  virtual ~PlanFetcher() = default;
  // Returns the document. `uri` may also be a path, as in references between plans: it is resolved
  // against `base`, a directory or the URI of the referring plan. Blocks.
  // Errors: kPlanUriNotAllowed, kPlanUnavailable.
  virtual Result<std::string> Fetch(std::string_view uri, std::string_view base) = 0;
};

}  // namespace everstep
