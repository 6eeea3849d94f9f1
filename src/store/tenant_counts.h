#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "store/key_value.h"
#include "store/row_keys.h"
#include "store/state_store.h"

namespace everstep {

// The counts of every tenant, both as stored and as the pending write will leave them. Not
// thread-safe.
class TenantCounts {
 public:
  void Load(std::string tenant_id, const StoreCounts& counts);
  // Returns the counts for the caller to change as part of the next write.
  StoreCounts& Edit(const std::string& tenant_id);
  // Adds one row for each edited tenant.
  void PutEdits(RowKeys& keys, WriteBatch& batch);
  void Keep();  // after the write is durable
  void Drop();  // if nothing was written
  // Whether no edit waits for Keep or Drop.
  bool settled() const { return edits_.empty(); }

 private:
  struct Tenant {
    StoreCounts stored;
    StoreCounts next;
    bool edited = false;
  };
  using Tenants = std::unordered_map<std::string, Tenant>;

  Tenants tenants_;
  std::vector<Tenants::value_type*> edits_;  // pointers to map nodes stay valid
  std::string value_;
};

}  // namespace everstep
