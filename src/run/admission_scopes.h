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

// The scopes whose limits count for one run, the nearest first: key (may be null), project, tenant,
// engine.
using AdmissionPath = std::array<AdmissionScope*, 4>;

// The scopes in use. Keeps the gates of the queue as the limits say, knows when tokens come, and
// forgets scopes that have no runs once their bucket is full.
class AdmissionScopes {
 public:
  AdmissionScopes(const AdmissionPolicy& policy, FairQueue& queue);

  AdmissionScope& engine() { return engine_; }
  const AdmissionScope& engine() const { return engine_; }
  // Null: it has no runs here.
  const AdmissionScope* FindTenant(const std::string& tenant) const;

  // For a run that comes; the scopes live until it leaves. An empty key is none.
  AdmissionPath Join(const std::string& tenant, const std::string& project, const std::string& key);
  void Leave(const AdmissionPath& path, Timestamp now);

  // To be called after any change of the counts or tokens of the path.
  void Update(const AdmissionPath& path, Timestamp now);
  // Tokens that have come by `now` open their gates.
  void Advance(Timestamp now);
  // The clock was set back: what was to come at a time comes at another.
  void Reset(Timestamp now);

  // When the next gate opens behind which a run is queued, the engine's own left out of account.
  std::optional<Timestamp> NextWake() const;
  // Tenants, projects and keys.
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
  Wakes wakes_;    // tokens that queued runs wait for
  Wakes cooling_;  // without runs, until the bucket is full
};

}  // namespace everstep
