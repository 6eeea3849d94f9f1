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

// The holders of hook tokens, including decisions in flight to the store. Tokens are unique within
// a tenant across all shards. A decision on a token must hold the ledger's lock until its unit is
// submitted, so that decisions on tokens are made in commit order.
class TokenLedger {
 public:
  explicit TokenLedger(StateStore& store) : store_(store) {}

  std::unique_lock<std::mutex> Lock() { return std::unique_lock(mutex_); }

  // Must be called with the lock held.
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
