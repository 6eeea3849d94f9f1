#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/timestamp.h"
#include "everstep/engine.h"
#include "run/admission_scope.h"
#include "run/fair_queue.h"

namespace everstep {

// The scopes whose limits apply to a run, nearest first: key (may be null), project, tenant,
// engine.
using AdmissionPath = std::array<AdmissionScope*, 4>;

// The scopes in use. Opens and closes the gates of the queue according to the limits, knows when
// tokens arrive, and forgets scopes without runs once their bucket is full.
class AdmissionScopes {
 public:
  AdmissionScopes(const AdmissionPolicy& policy, FairQueue& queue);

  AdmissionScope& engine() { return engine_; }
  const AdmissionScope& engine() const { return engine_; }
  // Null if the tenant has no runs here.
  const AdmissionScope* FindTenant(const std::string& tenant) const;

  // Adds a run. The scopes stay valid until Leave. An empty key means no key.
  AdmissionPath Join(const std::string& tenant, const std::string& project, const std::string& key);
  void Leave(const AdmissionPath& path, Timestamp now);

  // Must be called after any change of the counts or tokens of the path.
  void Update(const AdmissionPath& path, Timestamp now);
  // Opens the gates whose tokens have arrived by `now`.
  void Advance(Timestamp now);
  // To be called when the clock was set back: recomputes the times of all wakes.
  void Reset(Timestamp now);

  // When the next gate opens that blocks a queued run. Ignores the engine's own limits.
  std::optional<Timestamp> NextWake() const;
  // The number of tenants, projects and keys.
  std::size_t size() const { return scopes_.size(); }

 private:
  using Wakes = std::set<std::pair<Timestamp, AdmissionScope*>>;

  AdmissionScope& Find(AdmissionLevel level, const std::string& tenant, const std::string& name);
  const AdmissionLimit& LimitOf(AdmissionLevel level, const std::string& tenant) const;
  void Update(AdmissionScope& scope, Timestamp now);
  void UpdateDue(Wakes& wakes, Timestamp now);
  void SetGate(const AdmissionScope& scope, bool open);
  void ClearWake(AdmissionScope& scope);

  const AdmissionPolicy& policy_;
  FairQueue& queue_;
  std::unordered_map<std::string, AdmissionLimit> tenant_limits_;
  AdmissionScope engine_;
  std::unordered_map<std::string, std::unique_ptr<AdmissionScope>> scopes_;
  Wakes wakes_;    // scopes with queued runs that wait for a token
  Wakes cooling_;  // scopes without runs, until their bucket is full
};

}  // namespace everstep
