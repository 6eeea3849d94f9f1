#include "run/admission_scopes.h"

#include "base/assert.h"

namespace everstep {
namespace {

// Unambiguous: ids of tenants contain no control characters. Only the last part may contain any.
std::string ScopeKey(AdmissionLevel level, const std::string& tenant, const std::string& name) {
  std::string key(ToString(level));
  key += '\0';
  key += tenant;
  key += '\0';
  key += name;
  return key;
}

std::string ScopeKey(const AdmissionScope& scope) {
  return ScopeKey(scope.level(), scope.tenant(), scope.name());
}

}  // namespace

AdmissionScopes::AdmissionScopes(const AdmissionPolicy& policy, FairQueue& queue)
    : policy_(policy),
      queue_(queue),
      tenant_limits_(policy.tenants.begin(), policy.tenants.end()),
      engine_(AdmissionLevel::kEngine, "", "", policy.engine) {}

const AdmissionScope* AdmissionScopes::FindTenant(const std::string& tenant) const {
  const auto found = scopes_.find(ScopeKey(AdmissionLevel::kTenant, tenant, tenant));
  return found == scopes_.end() ? nullptr : found->second.get();
}

AdmissionScope& AdmissionScopes::Find(AdmissionLevel level, const std::string& tenant,
                                      const std::string& name) {
  auto& scope = scopes_[ScopeKey(level, tenant, name)];
  if (scope == nullptr) {
    scope = std::make_unique<AdmissionScope>(level, tenant, name, LimitOf(level, tenant));
  }
  return *scope;
}

const AdmissionLimit& AdmissionScopes::LimitOf(AdmissionLevel level,
                                               const std::string& tenant) const {
  if (level == AdmissionLevel::kProject) return policy_.project;
  if (level == AdmissionLevel::kKey) return policy_.key;
  const auto own = tenant_limits_.find(tenant);
  return own == tenant_limits_.end() ? policy_.tenant : own->second;
}

AdmissionPath AdmissionScopes::Join(const std::string& tenant, const std::string& project,
                                    const std::string& key) {
  const AdmissionPath path = {key.empty() ? nullptr : &Find(AdmissionLevel::kKey, tenant, key),
                              &Find(AdmissionLevel::kProject, tenant, project),
                              &Find(AdmissionLevel::kTenant, tenant, tenant), &engine_};
  for (AdmissionScope* const scope : path) {
    if (scope == nullptr) continue;
    ClearWake(*scope);
    ++scope->members;
  }
  return path;
}

void AdmissionScopes::Leave(const AdmissionPath& path, Timestamp now) {
  for (AdmissionScope* const scope : path) {
    if (scope == nullptr) continue;
    EVERSTEP_ASSERT(scope->members > 0);
    --scope->members;
    Update(*scope, now);
  }
}

void AdmissionScopes::Update(const AdmissionPath& path, Timestamp now) {
  for (AdmissionScope* const scope : path) {
    if (scope != nullptr) Update(*scope, now);
  }
}

void AdmissionScopes::Update(AdmissionScope& scope, Timestamp now) {
  if (scope.level() == AdmissionLevel::kEngine) return;
  ClearWake(scope);
  if (scope.members == 0) {
    EVERSTEP_ASSERT(scope.queued == 0 && scope.delayed == 0 && scope.running() == 0);
    const Timestamp forget_at = scope.ForgetAt(now);
    if (forget_at <= now) {
      scopes_.erase(ScopeKey(scope));
      return;
    }
    scope.wake_at = forget_at;
    scope.cooling = true;
    cooling_.emplace(forget_at, &scope);
    return;
  }
  const AdmissionBound bound = scope.Blocks(now);
  SetGate(scope, bound == AdmissionBound::kNone);
  if (scope.queued > 0 && bound == AdmissionBound::kRate) {
    scope.wake_at = scope.TokenAt(now);
    wakes_.emplace(*scope.wake_at, &scope);
  }
}

void AdmissionScopes::SetGate(const AdmissionScope& scope, bool open) {
  if (scope.queued == 0) return;
  switch (scope.level()) {
    case AdmissionLevel::kEngine:
      return;
    case AdmissionLevel::kTenant:
      return queue_.SetTenantOpen(scope.tenant(), open);
    case AdmissionLevel::kProject:
      return queue_.SetGroupOpen(scope.tenant(), scope.name(), open);
    case AdmissionLevel::kKey:
      return queue_.SetKeyOpen(scope.tenant(), scope.name(), open);
  }
}

void AdmissionScopes::ClearWake(AdmissionScope& scope) {
  if (!scope.wake_at) return;
  const std::size_t removed = (scope.cooling ? cooling_ : wakes_).erase({*scope.wake_at, &scope});
  EVERSTEP_ASSERT(removed == 1);
  scope.wake_at.reset();
  scope.cooling = false;
}

void AdmissionScopes::Advance(Timestamp now) {
  UpdateDue(wakes_, now);
  UpdateDue(cooling_, now);
}

void AdmissionScopes::UpdateDue(Wakes& wakes, Timestamp now) {
  // Terminates: Update removes a due scope from the set or puts it back at a time after `now`.
  while (!wakes.empty() && wakes.begin()->first <= now) Update(*wakes.begin()->second, now);
}

void AdmissionScopes::Reset(Timestamp now) {
  for (const Wakes& wakes : {Wakes(wakes_), Wakes(cooling_)}) {
    for (const auto& [at, scope] : wakes) Update(*scope, now);
  }
}

std::optional<Timestamp> AdmissionScopes::NextWake() const {
  if (wakes_.empty()) return std::nullopt;
  return wakes_.begin()->first;
}

}  // namespace everstep
