#include "run/plan_library.h"

#include <utility>

namespace everstep {
namespace {

std::string KeyOf(const Sha256Digest& sha256) {
  return {reinterpret_cast<const char*>(sha256.data()), sha256.size()};
}

}  // namespace

PlanLibrary::PlanLibrary(StateStore& store, Committer& committer, PlanAudience audience)
    : store_(store), committer_(committer), audience_(std::move(audience)) {}

std::shared_ptr<const Plan> PlanLibrary::Known(const Sha256Digest& sha256) {
  const std::lock_guard lock(mutex_);
  const auto found = by_sha256_.find(KeyOf(sha256));
  if (found == by_sha256_.end()) return nullptr;
  order_.splice(order_.begin(), order_, found->second);
  return *found->second;
}

void PlanLibrary::Keep(std::shared_ptr<const Plan> plan) {
  const std::lock_guard lock(mutex_);
  const std::string key = KeyOf(plan->sha256);
  if (by_sha256_.contains(key)) return;
  order_.push_front(std::move(plan));
  by_sha256_.emplace(key, order_.begin());
  if (order_.size() <= kPlansKept) return;
  by_sha256_.erase(KeyOf(order_.back()->sha256));
  order_.pop_back();
}

Result<std::shared_ptr<const Plan>> PlanLibrary::Add(std::string_view document) {
  const Sha256Digest sha256 = Sha256(document);
  if (auto known = Known(sha256)) return known;
  auto plan = ReadPlan(document, audience_);
  if (!plan) return plan;
  const auto stored = store_.Read()->FindPlan(sha256);
  if (!stored) return stored.error();
  if (!*stored) {
    const Status put = committer_.BetweenCommits([&] { return store_.PutPlan(sha256, document); });
    if (!put) return put.error();
  }
  Keep(*plan);
  return plan;
}

Result<std::shared_ptr<const Plan>> PlanLibrary::Find(const Sha256Digest& sha256) {
  if (auto known = Known(sha256)) return known;
  const auto stored = store_.Read()->FindPlan(sha256);
  if (!stored) return stored.error();
  if (!*stored) {
    return Error{ErrorCode::kPlanUnavailable, "the store has no plan " + ToHex(sha256), {}};
  }
  // It was accepted once; a tool that is missing here now is a matter of the steps that need it.
  auto plan = ReadPlan(**stored, {});
  if (!plan) return plan;
  Keep(*plan);
  return plan;
}

}  // namespace everstep
