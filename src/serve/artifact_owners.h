#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/committer.h"
#include "everstep/result.h"
#include "store/state_store.h"
#include "work/artifact_store.h"

namespace everstep {

// Which tenant has uploaded which artifact. Identical bytes are stored once for all tenants, so
// knowing a reference does not prove having uploaded it. Thread-safe; blocks on the store.
class ArtifactOwners {
 public:
  ArtifactOwners(StateStore& store, Committer& committer) : store_(store), committer_(committer) {}

  // The entry is durable on return.
  Status Add(const std::string& tenant_id, const ArtifactRef& artifact);
  Result<bool> Has(const std::string& tenant_id, const std::string& sha256);
  // Checks that a JSON list of ArtifactRefs (empty: no references) contains uploads of the tenant
  // only. kArtifactNotFound if not; kInvalidArgument if it is not such a list; other errors if the
  // store cannot be read.
  Status Check(const std::string& tenant_id, std::string_view references);

 private:
  StateStore& store_;
  Committer& committer_;
};

// Returns the digests in the URIs of a JSON list of ArtifactRefs. kInvalidArgument if it is not
// such a list.
Result<std::vector<std::string>> DigestsOf(std::string_view references);

}  // namespace everstep
