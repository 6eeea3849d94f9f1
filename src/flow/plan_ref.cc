#include "flow/plan_ref.h"

#include <algorithm>
#include <string>

namespace everstep {
namespace {

std::string Lowered(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return text;
}

}  // namespace

Status CheckPlanDigest(const PlanRef& ref, std::string_view document) {
  const std::string found = ToHex(Sha256(document));
  const std::string expected = Lowered(ref.sha256);
  if (expected == found) return Ok();
  const std::string said = expected.empty() ? "no SHA-256" : "SHA-256 " + expected;
  return Error{ErrorCode::kPlanIntegrityValidationFailed,
               ref.uri + ": the reference says " + said + ", the document has " + found,
               {}};
}

Status CheckPlanNames(const PlanRef& ref, std::string_view plan_id, std::string_view plan_version,
                      std::string_view schema_version) {
  Error error{ErrorCode::kPlanRefMismatch, ref.uri + ": the document is another plan", {}};
  const auto compare = [&](const char* name, const std::string& said, std::string_view found) {
    if (said.empty() || said == found) return;
    error.faults.push_back(
        {std::string("/") + name,
         "the reference says '" + said + "', the plan '" + std::string(found) + "'"});
  };
  compare("planId", ref.plan_id, plan_id);
  compare("planVersion", ref.plan_version, plan_version);
  compare("schemaVersion", ref.schema_version, schema_version);
  if (error.faults.empty()) return Ok();
  return error;
}

}  // namespace everstep
