#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "engine/committer.h"
#include "everstep/result.h"
#include "flow/plan.h"
#include "run/program_library.h"
#include "store/state_store.h"
#include "wire/wire.h"

namespace everstep {

// A registered plan: found by tenant, id and version, and stored by its digest.
struct RegisteredPlan {
  std::string plan_id;
  std::string plan_version;
  std::string sha256;
  Timestamp registered_at{};
  std::string registered_by;
};

template <typename F>
void Describe(F& f, RegisteredPlan& plan) {
  f("planId", plan.plan_id);
  f("planVersion", plan.plan_version);
  f("sha256", plan.sha256);
  f("registeredAt", plan.registered_at);
  f("registeredBy", plan.registered_by);
}

// The plans registered by tenants. A registered version refers to the same document forever.
// Thread-safe; blocks on the store, except for Known.
class PlanRegistry {
 public:
  static constexpr std::size_t kKnownMax = 1'024;

  PlanRegistry(StateStore& store, Committer& committer, ProgramLibrary& library, Clock& clock);

  struct Registered {
    RegisteredPlan plan;
    bool existing = false;  // this version was already registered with the same bytes
  };
  // Faults as in ReadPlan. kPlanVersionTaken if the version is registered with other content.
  Result<Registered> Register(const std::string& tenant_id, std::string_view document,
                              const std::string& by);
  // An empty version finds the one registered last. kPlanNotFound if there is none.
  Result<RegisteredPlan> Find(const std::string& tenant_id, const std::string& plan_id,
                              const std::string& version);
  // What Find returns, if it is in memory: it was found before, and at most kKnownMax are kept.
  std::optional<RegisteredPlan> Known(const std::string& tenant_id, const std::string& plan_id,
                                      const std::string& version) const;
  // Sorted by id and version; `after` is the last name of the previous page (see NameOf).
  Result<std::vector<RegisteredPlan>> List(const std::string& tenant_id, const std::string& plan_id,
                                           const std::string& after, std::size_t limit);
  // The document of a registered plan.
  Result<std::string> Document(const RegisteredPlan& plan);
  // The compiled plan.
  Result<std::shared_ptr<const Plan>> Compiled(const RegisteredPlan& plan);

  static std::string NameOf(const std::string& plan_id, const std::string& version);

 private:
  Result<RegisteredPlan> Read(const std::string& tenant_id, const std::string& plan_id,
                              const std::string& version);
  // Makes Find read again which version of the plan is the newest.
  void ForgetNewest(const std::string& tenant_id, const std::string& plan_id);

  StateStore& store_;
  Committer& committer_;
  ProgramLibrary& library_;
  Clock& clock_;
  mutable std::mutex mutex_;
  // By tenant, id and version; an empty version stands for the newest. Guarded by mutex_, like the
  // next one.
  std::unordered_map<std::string, RegisteredPlan> known_;
  std::uint64_t registered_ = 0;  // versions since the start
};

}  // namespace everstep
