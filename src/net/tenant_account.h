#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/shared_limit.h"

namespace everstep {

// The identity of an authenticated client.
struct ClientName {
  std::string tenant;
  bool is_operator = false;  // only bound by the limits of the server, whatever tenants hold
};

// What all connections of one tenant hold. Thread-safe.
struct TenantAccount {
  explicit TenantAccount(std::string tenant) : name(std::move(tenant)) {}

  const std::string name;
  std::atomic<std::size_t> connections = 0;  // written by TenantAccounts
  std::atomic<std::size_t> bytes = 0;        // included in the MemoryAccount
  std::atomic<std::size_t> parsed = 0;       // included in `bytes`; see MemoryCharge
};

// Counts the connections of each tenant. Thread-safe.
class TenantAccounts {
 public:
  explicit TenantAccounts(SharedLimit connections) : limit_(connections) {}

  // Counts one more connection of the tenant. Null: the tenant, or all tenants together, have
  // reached the limit.
  std::shared_ptr<TenantAccount> Take(const std::string& tenant) {
    const std::lock_guard lock(mutex_);
    auto& account = accounts_[tenant];
    if (account == nullptr) account = std::make_shared<TenantAccount>(tenant);
    const std::shared_ptr<TenantAccount> found = account;
    if (limit_.Ask(connections_, found->connections) != SharedLimit::Answer::kRoom) {
      Forget(*found);
      return nullptr;
    }
    ++found->connections;
    ++connections_;
    return found;
  }
  void Leave(const std::shared_ptr<TenantAccount>& account) {
    const std::lock_guard lock(mutex_);
    --connections_;
    --account->connections;
    Forget(*account);
  }

 private:
  // Calls that outlive their connections keep their account, which no longer counts for others.
  void Forget(const TenantAccount& account) {
    if (account.connections == 0 && account.bytes == 0) accounts_.erase(std::string(account.name));
  }

  const SharedLimit limit_;
  std::mutex mutex_;
  std::size_t connections_ = 0;  // guarded by mutex_, as the next
  std::unordered_map<std::string, std::shared_ptr<TenantAccount>> accounts_;
};

}  // namespace everstep
