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

// Fetches plans that are named by a URI. Schemes and hosts are on the allow-lists of the options or
// are refused; addresses are checked when they are connected to; redirects are not followed, since
// they would lead around the list of hosts. Thread-safe.
class PlanSource {
 public:
  explicit PlanSource(const ToolOptions& options);

  // The document. `uri` may also be a path, as plans speak of the plans beside them: it is resolved
  // against `base`, a directory or the URI of the plan that speaks. Blocks.
  // kPlanUriNotAllowed, kPlanUnavailable (it is not there, does not answer, or has more than
  // kPlanBytesMax bytes).
  Result<std::string> Fetch(std::string_view uri, std::string_view base = {});

  // What `reference` means when the plan at `base` speaks of it: an absolute URI.
  static std::string Resolve(std::string_view reference, std::string_view base);

 private:
  Result<std::string> FetchFile(const std::string& uri) const;
  Result<std::string> FetchHttp(const std::string& uri);

  const std::vector<std::string> schemes_;
  const std::vector<std::string> hosts_;
  HttpClient client_;
};

// Is `document` the plan that `ref` means? Its digest, then what it calls itself; empty members of
// `ref` are not compared, but the digest must be there. kPlanIntegrityValidationFailed,
// kPlanRefMismatch, or what ReadPlan says.
Result<std::shared_ptr<const Plan>> VerifyPlan(const PlanRef& ref, std::string_view document,
                                               const PlanAudience& audience = {});

}  // namespace everstep
