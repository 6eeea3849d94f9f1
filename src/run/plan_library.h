#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "engine/committer.h"
#include "flow/plan.h"
#include "store/state_store.h"

namespace everstep {

// The plans of a store, by the SHA-256 of their documents; those used lately are kept compiled.
// Thread-safe.
class PlanLibrary {
 public:
  static constexpr std::size_t kPlansKept = 256;

  PlanLibrary(StateStore& store, Committer& committer, PlanAudience audience);

  // Reads, checks and keeps a plan. On return it is durable. Faults as ReadPlan.
  Result<std::shared_ptr<const Plan>> Add(std::string_view document);
  // The plan if it is compiled, without looking into the store; null: it is not.
  std::shared_ptr<const Plan> Known(const Sha256Digest& sha256);
  // kPlanUnavailable: the store does not have it.
  Result<std::shared_ptr<const Plan>> Find(const Sha256Digest& sha256);
  // What Add checks plans for.
  const PlanAudience& audience() const { return audience_; }

 private:
  using Order = std::list<std::shared_ptr<const Plan>>;  // most recently used first

  void Keep(std::shared_ptr<const Plan> plan);

  StateStore& store_;
  Committer& committer_;
  const PlanAudience audience_;
  std::mutex mutex_;
  Order order_;  // guarded by mutex_, as the next
  std::unordered_map<std::string, Order::iterator> by_sha256_;
};

}  // namespace everstep
