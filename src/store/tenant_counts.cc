#include "store/tenant_counts.h"

#include <utility>

#include "base/assert.h"
#include "store/row_values.h"

namespace everstep {

void TenantCounts::Load(std::string tenant_id, const StoreCounts& counts) {
  EVERSTEP_ASSERT(settled());
  tenants_.insert_or_assign(std::move(tenant_id), Tenant{counts, counts, false});
}

StoreCounts& TenantCounts::Edit(const std::string& tenant_id) {
  auto& entry = *tenants_.try_emplace(tenant_id).first;
  if (!entry.second.edited) {
    entry.second.edited = true;
    edits_.push_back(&entry);
  }
  return entry.second.next;
}

void TenantCounts::PutEdits(RowKeys& keys, WriteBatch& batch) {
  for (const auto* entry : edits_) {
    EVERSTEP_ASSERT(entry->second.edited);
    value_.clear();
    EncodeCounts(entry->second.next, value_);
    batch.Put(Table::kMeta, keys.Counts(entry->first), value_);
  }
}

void TenantCounts::Keep() {
  for (auto* entry : edits_) {
    entry->second.stored = entry->second.next;
    entry->second.edited = false;
  }
  edits_.clear();
}

void TenantCounts::Drop() {
  for (auto* entry : edits_) {
    entry->second.next = entry->second.stored;
    entry->second.edited = false;
  }
  edits_.clear();
}

}  // namespace everstep
