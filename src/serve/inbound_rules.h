#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bus/inbound_rule.h"
#include "engine/committer.h"
#include "everstep/result.h"
#include "store/state_store.h"

namespace everstep {

// The rules of a tenant, in the order of their ids.
struct TenantRules {
  std::vector<InboundRule> rules;
  std::size_t bytes = 0;  // of their texts
};

// The rules for inbound events of all tenants. They are read for every event that arrives, so those
// in use are kept in memory, and all calls share them. Thread-safe; blocks on the store.
class InboundRules {
 public:
  InboundRules(StateStore& store, Committer& committer) : store_(store), committer_(committer) {}

  Result<std::shared_ptr<const TenantRules>> Of(const std::string& tenant_id);
  // These are durable on return. Put returns whether the rule existed; kInvalidArgument if the
  // tenant would have too many rules or too long ones. Remove: kInboundRuleNotFound.
  Result<bool> Put(const std::string& tenant_id, const InboundRule& rule);
  Status Remove(const std::string& tenant_id, const std::string& rule_id);

 private:
  Status Write(const std::string& tenant_id, const std::string& rule_id,
               std::optional<std::string> text);
  void Keep(const std::string& tenant_id, std::shared_ptr<const TenantRules> rules,
            std::uint64_t writes);

  StateStore& store_;
  Committer& committer_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const TenantRules>> kept_;  // guarded by mutex_
  std::size_t kept_bytes_ = 0;                                                // likewise
  std::uint64_t writes_ = 0;  // likewise; what was read before the last write is not kept
};

}  // namespace everstep
