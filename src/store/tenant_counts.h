#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "store/key_value.h"
#include "store/row_keys.h"
#include "store/state_store.h"

namespace everstep {

// The counts of every tenant as they are stored, and as the write in the making will leave them.
// One thread.
class TenantCounts {
 public:
  void Load(std::string tenant_id, const StoreCounts& counts);
  // To be changed by the caller, as part of the next write.
  StoreCounts& Edit(const std::string& tenant_id);
  // One row for each tenant that was edited.
  void PutEdits(RowKeys& keys, WriteBatch& batch);
  void Keep();  // the write is durable
  void Drop();  // nothing was written

 private:
  struct Tenant {
    StoreCounts stored;
    StoreCounts next;
    bool edited = false;
  };
  using Tenants = std::unordered_map<std::string, Tenant>;

  Tenants tenants_;
  std::vector<Tenants::value_type*> edits_;  // the map's nodes do not move
  std::string value_;
};

}  // namespace everstep
