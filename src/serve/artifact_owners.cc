#include "serve/artifact_owners.h"

#include <array>
#include <utility>

#include "base/sha256.h"
#include "base/value.h"

namespace everstep {
namespace {

DocumentKey DocumentOf(const std::string& tenant_id, const std::string& sha256) {
  return {DocumentKind::kArtifact, tenant_id, sha256};
}

Error InvalidList(std::string message) {
  return {ErrorCode::kInvalidArgument, "artifacts: " + std::move(message), {}};
}

}  // namespace

Status ArtifactOwners::Add(const std::string& tenant_id, const ArtifactRef& artifact) {
  return committer_.Put(
      {{DocumentOf(tenant_id, artifact.sha256), ToJson(artifact.ToValue()), artifact.size_bytes}});
}

Result<bool> ArtifactOwners::Has(const std::string& tenant_id, const std::string& sha256) {
  const auto found = store_.Read()->FindDocument(DocumentOf(tenant_id, sha256));
  if (!found) return found.error();
  return found->has_value();
}

Status ArtifactOwners::Check(const std::string& tenant_id, std::string_view references) {
  if (references.empty()) return Ok();
  const auto digests = DigestsOf(references);
  if (!digests) return digests.error();
  for (const std::string& sha256 : *digests) {
    const auto has = Has(tenant_id, sha256);
    if (!has) return has.error();
    if (*has) continue;
    return Error{
        ErrorCode::kArtifactNotFound,
        "artifact " + sha256 + " was not uploaded; POST it to /v1/artifacts before reporting it",
        {}};
  }
  return Ok();
}

Result<std::vector<std::string>> DigestsOf(std::string_view references) {
  constexpr std::string_view kUriStart = "artifact:sha256:";
  std::vector<std::string> digests;
  const auto list = ValueFromJson(references);
  if (!list || list->kind() != Value::Kind::kList)
    return InvalidList("must be a list of references");
  for (const Value& reference : list->list()) {
    std::string uri = ToText(reference.Get("uri"));
    if (!uri.starts_with(kUriStart) || !DigestFromHex(uri.substr(kUriStart.size()))) {
      return InvalidList("uri must be artifact:sha256: and 64 hexadecimal digits");
    }
    digests.push_back(uri.substr(kUriStart.size()));
  }
  return digests;
}

}  // namespace everstep
