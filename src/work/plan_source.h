#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "everstep/engine.h"
#include "everstep/result.h"
#include "flow/plan.h"
#include "net/http_client.h"

namespace everstep {

// Fetches plans by URI. Schemes and hosts must be on the allow-lists of the options. Addresses are
// checked when connecting. Redirects are not followed, because they would bypass the list of hosts.
// Thread-safe.
class PlanSource {
 public:
  explicit PlanSource(const ToolOptions& options);

  // Returns the document. `uri` may also be a path, as in references between plans: it is resolved
  // against `base`, a directory or the URI of the referring plan. Blocks. Returns
  // kPlanUriNotAllowed, or kPlanUnavailable if the plan is missing, unreachable, or larger than
  // kPlanBytesMax.
  Result<std::string> Fetch(std::string_view uri, std::string_view base = {});

  // Resolves a `reference` in the plan at `base` to an absolute URI.
  static std::string Resolve(std::string_view reference, std::string_view base);

 private:
  Result<std::string> FetchFile(const std::string& uri) const;
  Result<std::string> FetchHttp(const std::string& uri);

  const std::vector<std::string> schemes_;
  const std::vector<std::string> hosts_;
  HttpClient client_;
};

// Checks that `document` is the plan that `ref` refers to, first its digest, then its names, and
// reads it. `ref` must have a digest; its other members are not compared if they are empty. Returns
// kPlanIntegrityValidationFailed, kPlanRefMismatch, or an error of ReadPlan.
Result<std::shared_ptr<const Plan>> VerifyPlan(const PlanRef& ref, std::string_view document,
                                               const PlanAudience& audience = {});

}  // namespace everstep
