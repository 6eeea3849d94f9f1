#pragma once

#include <string>

#include "store/key_value.h"
#include "store/row_keys.h"
#include "store/state_store.h"
#include "store/tenant_counts.h"

namespace everstep {

// Turns a RunChange into rows. Keeps its buffers from change to change: a step's event is five puts
// (event, key, entity, run, outbox) and no allocation of its own.
class ChangeEncoder {
 public:
  explicit ChangeEncoder(TenantCounts& counts) : counts_(counts) {}

  void Encode(const RunChange& change, WriteBatch& batch);

 private:
  void PutEvents(const RunChange& change, WriteBatch& batch);
  void PutEntities(const RunChange& change, WriteBatch& batch);
  void PutRun(const RunChange& change, WriteBatch& batch);
  void PutOutbox(const RunChange& change, WriteBatch& batch);
  void PutTokens(const RunChange& change, WriteBatch& batch);
  void PutTimers(const RunChange& change, WriteBatch& batch);

  TenantCounts& counts_;
  RowKeys keys_;
  std::string value_;
};

}  // namespace everstep
