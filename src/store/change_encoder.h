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

// Turns the changes of a commit into rows, table by table and there in the order of keys as far as
// that is free: a sorted table takes a row at little cost where the one before it went. Keeps its
// buffers from commit to commit: a step's event is three puts (event, entity, run) and no
// allocation of its own.
class ChangeEncoder {
 public:
  explicit ChangeEncoder(TenantCounts& counts) : counts_(counts) {}

  // In order of commit, behind what `heads` have come to; they move on.
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
