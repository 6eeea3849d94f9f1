#include "serve/plan_registry.h"

#include <utility>
#include <variant>

#include "base/sha256.h"
#include "run/plan_program.h"
#include "wire/stored.h"

namespace everstep {

namespace {

Error NotFound(const std::string& plan_id, const std::string& version) {
  std::string text = "there is no plan " + plan_id;
  if (!version.empty()) text += " of version " + version;
  return {ErrorCode::kPlanNotFound, std::move(text), {}};
}

std::string KnownAs(const std::string& tenant_id, const std::string& plan_id,
                    const std::string& version) {
  return tenant_id + '\0' + PlanRegistry::NameOf(plan_id, version);
}

Result<RegisteredPlan> ReadStored(const std::string& tenant_id, std::string_view text) {
  return FromStored<RegisteredPlan>(text, "entry of a registered plan of tenant " + tenant_id);
}

}  // namespace

PlanRegistry::PlanRegistry(StateStore& store, Committer& committer, ProgramLibrary& library,
                           Clock& clock)
    : store_(store), committer_(committer), library_(library), clock_(clock) {}

// Neither part contains a NUL, so names sort by plan and then by version.
std::string PlanRegistry::NameOf(const std::string& plan_id, const std::string& version) {
  return plan_id + '\0' + version;
}

Result<PlanRegistry::Registered> PlanRegistry::Register(const std::string& tenant_id,
                                                        std::string_view document,
                                                        const std::string& by) {
  const auto plan = library_.Add(kPlanFormat, document);
  if (!plan) return plan.error();
  const DocumentKey key{DocumentKind::kPlanVersion, tenant_id,
                        NameOf(std::string((*plan)->id()), std::string((*plan)->version()))};
  Registered registered;
  registered.plan = {std::string((*plan)->id()), std::string((*plan)->version()),
                     (*plan)->ref().sha256, clock_.Now(), by};
  StoreOrder order = StoreFirst{{key, ToWire(registered.plan)}};
  if (const Status put = committer_.CarryOut(order); !put) return put.error();
  const auto& existing = std::get<StoreFirst>(order).existing;
  if (!existing) {
    ForgetNewest(tenant_id, registered.plan.plan_id);
    return registered;
  }
  auto before = ReadStored(tenant_id, *existing);
  if (!before) return before.error();
  if (before->sha256 != registered.plan.sha256) {
    return Error{ErrorCode::kPlanVersionTaken,
                 "plan " + before->plan_id + " already has a version " + before->plan_version +
                     " with the SHA-256 " + before->sha256,
                 {}};
  }
  return Registered{*std::move(before), true};
}

void PlanRegistry::ForgetNewest(const std::string& tenant_id, const std::string& plan_id) {
  const std::lock_guard lock(mutex_);
  ++registered_;
  known_.erase(KnownAs(tenant_id, plan_id, ""));
}

std::optional<RegisteredPlan> PlanRegistry::Known(const std::string& tenant_id,
                                                  const std::string& plan_id,
                                                  const std::string& version) const {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(KnownAs(tenant_id, plan_id, version));
  if (found == known_.end()) return std::nullopt;
  return found->second;
}

Result<RegisteredPlan> PlanRegistry::Find(const std::string& tenant_id, const std::string& plan_id,
                                          const std::string& version) {
  if (auto known = Known(tenant_id, plan_id, version)) return *std::move(known);
  std::uint64_t registered_before = 0;
  {
    const std::lock_guard lock(mutex_);
    registered_before = registered_;
  }
  auto plan = Read(tenant_id, plan_id, version);
  if (!plan) return plan;
  const std::lock_guard lock(mutex_);
  // If a version was registered meanwhile, `plan` may no longer be the newest.
  if (registered_ != registered_before) return plan;
  if (known_.size() >= kKnownMax) known_.clear();
  known_.insert_or_assign(KnownAs(tenant_id, plan_id, version), *plan);
  return plan;
}

Result<RegisteredPlan> PlanRegistry::Read(const std::string& tenant_id, const std::string& plan_id,
                                          const std::string& version) {
  if (!version.empty()) {
    const auto found = store_.Read()->FindDocument(
        {DocumentKind::kPlanVersion, tenant_id, NameOf(plan_id, version)});
    if (!found) return found.error();
    if (!*found) return NotFound(plan_id, version);
    return ReadStored(tenant_id, **found);
  }
  std::optional<RegisteredPlan> newest;
  std::string after;
  while (true) {
    auto page = List(tenant_id, plan_id, after, 100);
    if (!page) return page.error();
    if (page->empty()) break;
    after = NameOf(plan_id, page->back().plan_version);
    for (RegisteredPlan& plan : *page) {
      if (!newest || plan.registered_at >= newest->registered_at) newest = std::move(plan);
    }
  }
  if (!newest) return NotFound(plan_id, version);
  return *std::move(newest);
}

Result<std::vector<RegisteredPlan>> PlanRegistry::List(const std::string& tenant_id,
                                                       const std::string& plan_id,
                                                       const std::string& after,
                                                       std::size_t limit) {
  DocumentQuery query;
  query.kind = DocumentKind::kPlanVersion;
  query.tenant_id = tenant_id;
  if (!plan_id.empty()) query.prefix = plan_id + '\0';
  query.after = after;
  query.limit = limit;
  const auto documents = store_.Read()->ListDocuments(query);
  if (!documents) return documents.error();
  std::vector<RegisteredPlan> plans;
  for (const TenantDocument& document : *documents) {
    auto plan = ReadStored(tenant_id, *document.text);
    if (!plan) return plan.error();
    plans.push_back(*std::move(plan));
  }
  return plans;
}

Result<std::string> PlanRegistry::Document(const RegisteredPlan& plan) {
  const auto sha256 = DigestFromHex(plan.sha256);
  if (!sha256) return NotFound(plan.plan_id, plan.plan_version);
  auto document = store_.Read()->FindPlan(*sha256);
  if (!document) return document.error();
  if (!*document) return NotFound(plan.plan_id, plan.plan_version);
  return **std::move(document);
}

Result<std::shared_ptr<const Plan>> PlanRegistry::Compiled(const RegisteredPlan& plan) {
  const auto program = library_.Find({std::string(kPlanFormat), plan.sha256});
  if (!program) return program.error();
  return PlanOf(**program);
}

}  // namespace everstep
