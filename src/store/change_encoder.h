#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "store/key_value.h"
#include "store/row_keys.h"
#include "store/row_values.h"
#include "store/state_store.h"
#include "store/tenant_counts.h"

namespace everstep {

// Encodes the changes of a commit as rows, table by table and mostly in key order, because
// inserting next to the previous row of a sorted table is cheap. Reuses its buffers between
// commits: a step event costs three puts (event, entity, run) and no allocation.
class ChangeEncoder {
 public:
  explicit ChangeEncoder(TenantCounts& counts) : counts_(counts) {}

  // Adds the rows of `changes` to `batch`. Requires: `changes` are in commit order and continue at
  // `heads`. Advances `heads`.
  void Encode(std::span<const RunChange* const> changes, StoreHeads& heads, WriteBatch& batch);

 private:
  void PutEvents(const RunChange& change, WriteBatch& batch);
  void PutEntities(const RunChange& change, WriteBatch& batch);
  void PutRun(const RunChange& change, WriteBatch& batch);
  void PutOutbox(std::span<const RunChange* const> changes, StoreHeads& heads, WriteBatch& batch);
  void PutTokens(const RunChange& change, WriteBatch& batch);
  void PutTimers(const RunChange& change, WriteBatch& batch);

  TenantCounts& counts_;
  RowKeys keys_;
  std::string value_;
  std::vector<const RunChange*> by_run_;
};

}  // namespace everstep
