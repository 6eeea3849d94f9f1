#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "engine/committer.h"
#include "store/state_store.h"

namespace everstep {

// Who holds which hook token, counting the decisions that are on their way to the store. Tokens are
// unique within a tenant, over all shards; whoever decides on one holds the ledger until its unit
// is submitted, so that decisions on tokens have one order and it is the order of commits.
class TokenLedger {
 public:
  explicit TokenLedger(StateStore& store) : store_(store) {}

  std::unique_lock<std::mutex> Lock() { return std::unique_lock(mutex_); }

  // The lock is held for each of these.
  Result<std::optional<HookHolder>> HolderLocked(std::string_view tenant_id,
                                                 std::string_view token);
  void RecordLocked(const std::shared_ptr<CommitUnit>& unit);

 private:
  struct Pending {
    std::shared_ptr<CommitUnit> unit;
    std::optional<HookHolder> holder;
  };

  StateStore& store_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Pending, std::less<>> pending_;
};

}  // namespace everstep
