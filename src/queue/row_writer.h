#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/committer.h"
#include "store/state_store.h"

namespace everstep {

// Writes documents for many callers: what comes while a write is under way goes together into the
// next, one atomic, synced write. Thread-safe.
class RowWriter {
 public:
  RowWriter(StateStore& store, Committer& committer) : store_(store), committer_(committer) {}

  // Returns when they are durable, all or none; in the order of the calls.
  Status Write(std::vector<TenantDocument> rows);

 private:
  struct Batch {
    std::vector<TenantDocument> rows;
    std::optional<Status> outcome;
  };

  StateStore& store_;
  Committer& committer_;
  std::mutex mutex_;
  std::condition_variable written_;
  std::shared_ptr<Batch> gathering_ = std::make_shared<Batch>();  // guarded by mutex_, as busy_
  bool busy_ = false;
};

}  // namespace everstep
