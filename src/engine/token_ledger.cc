#include "engine/token_ledger.h"

namespace everstep {

Result<std::optional<HookHolder>> TokenLedger::HolderLocked(std::string_view tenant_id,
                                                            std::string_view token) {
  const auto pending = pending_.find(std::pair(std::string(tenant_id), std::string(token)));
  if (pending != pending_.end() && !pending->second.unit->settled()) return pending->second.holder;
  return store_.Read()->FindHook(tenant_id, token);
}

void TokenLedger::RecordLocked(const std::shared_ptr<CommitUnit>& unit) {
  // Settled units are in the store or were discarded. Keep only units in flight.
  std::erase_if(pending_, [](const auto& entry) { return entry.second.unit->settled(); });
  const RunChange& change = unit->change;
  for (const RunChange::Token& token : change.tokens) {
    std::optional<HookHolder> holder;
    if (token.hook_id) holder = HookHolder{change.run_id, *token.hook_id, token.kept_until};
    pending_[std::pair(change.state.scope.tenant_id, token.token)] = {unit, std::move(holder)};
  }
}

}  // namespace everstep
