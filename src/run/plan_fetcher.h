#pragma once

#include <string>
#include <string_view>

#include "everstep/result.h"

namespace everstep {

// Where plans that are named by a URI come from. Thread-safe.
class PlanFetcher {
 public:
  virtual ~PlanFetcher() = default;
  // The document. `uri` may also be a path, as plans speak of the plans beside them: it is resolved
  // against `base`, a directory or the URI of the plan that speaks. Blocks.
  // kPlanUriNotAllowed, kPlanUnavailable.
  virtual Result<std::string> Fetch(std::string_view uri, std::string_view base) = 0;
};

}  // namespace everstep
