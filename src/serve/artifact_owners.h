#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/committer.h"
#include "everstep/result.h"
#include "store/state_store.h"
#include "work/artifact_store.h"

namespace everstep {

// Which tenant has uploaded which artifact. Bytes are kept once, whoever brought them; a reference
// to them is no proof that its writer has ever seen them. Thread-safe; blocks on the store.
class ArtifactOwners {
 public:
  ArtifactOwners(StateStore& store, Committer& committer) : store_(store), committer_(committer) {}

  // Durable on return.
  Status Add(const std::string& tenant_id, const ArtifactRef& artifact);
  bool Has(const std::string& tenant_id, const std::string& sha256);
  // Whether a JSON list of ArtifactRefs (empty: none) names uploads of the tenant and nothing else.
  // kArtifactNotFound; kInvalidArgument: it is no such list.
  Status Check(const std::string& tenant_id, std::string_view references);

 private:
  StateStore& store_;
  Committer& committer_;
};

// The digests that a JSON list of ArtifactRefs names by their URIs. kInvalidArgument: it is none.
Result<std::vector<std::string>> DigestsOf(std::string_view references);

}  // namespace everstep
