#include "serve/inbound_rules.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "wire/stored.h"

namespace everstep {
namespace {

constexpr std::size_t kRulesMax = 1'000;
constexpr std::size_t kBytesMax = 4 << 20;  // of one tenant
constexpr std::size_t kKeptBytesMax = 16 << 20;

DocumentKey KeyOf(const std::string& tenant_id, const std::string& rule_id) {
  return {DocumentKind::kInboundRule, tenant_id, rule_id};
}

}  // namespace

Result<std::shared_ptr<const TenantRules>> InboundRules::Of(const std::string& tenant_id) {
  std::uint64_t writes = 0;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kept_.find(tenant_id); found != kept_.end()) return found->second;
    writes = writes_;
  }
  const auto documents = store_.Read()->ListDocuments(
      {.kind = DocumentKind::kInboundRule, .tenant_id = tenant_id, .limit = kRulesMax});
  if (!documents) return documents.error();
  auto read = std::make_shared<TenantRules>();
  for (const TenantDocument& document : *documents) {
    auto rule = FromStored<InboundRule>(
        *document.text, "inbound rule " + document.key.name + " of tenant " + tenant_id);
    if (!rule) return std::move(rule).error();
    read->rules.push_back(*std::move(rule));
    read->bytes += document.text->size();
  }
  std::shared_ptr<const TenantRules> rules = std::move(read);
  Keep(tenant_id, rules, writes);
  return rules;
}

Result<bool> InboundRules::Put(const std::string& tenant_id, const InboundRule& rule) {
  const auto rules = Of(tenant_id);
  if (!rules) return rules.error();
  const auto former = store_.Read()->FindDocument(KeyOf(tenant_id, rule.rule_id));
  if (!former) return former.error();
  const bool existing = former->has_value();
  if (!existing && (*rules)->rules.size() >= kRulesMax) {
    return Error{ErrorCode::kInvalidArgument, "a tenant has at most 1000 rules", {}};
  }
  std::string text = ToWire(rule);
  const std::size_t others =
      (*rules)->bytes - std::min((*rules)->bytes, existing ? (*former)->size() : 0);
  if (others + text.size() > kBytesMax) {
    return Error{ErrorCode::kInvalidArgument,
                 "the rules of a tenant have at most 4 MiB together; this one has " +
                     std::to_string(text.size()) + " bytes, and the others have " +
                     std::to_string(others),
                 {}};
  }
  const Status written = Write(tenant_id, rule.rule_id, std::move(text));
  if (!written) return written.error();
  return existing;
}

Status InboundRules::Remove(const std::string& tenant_id, const std::string& rule_id) {
  const auto former = store_.Read()->FindDocument(KeyOf(tenant_id, rule_id));
  if (!former) return former.error();
  if (!former->has_value()) {
    return Error{ErrorCode::kInboundRuleNotFound, "there is no rule " + rule_id, {}};
  }
  return Write(tenant_id, rule_id, std::nullopt);
}

Status InboundRules::Write(const std::string& tenant_id, const std::string& rule_id,
                           std::optional<std::string> text) {
  const Status written = committer_.Put({{KeyOf(tenant_id, rule_id), std::move(text)}});
  // Also after a failure: the write may have happened.
  const std::lock_guard lock(mutex_);
  ++writes_;
  if (const auto found = kept_.find(tenant_id); found != kept_.end()) {
    kept_bytes_ -= found->second->bytes;
    kept_.erase(found);
  }
  return written;
}

void InboundRules::Keep(const std::string& tenant_id, std::shared_ptr<const TenantRules> rules,
                        std::uint64_t writes) {
  const std::lock_guard lock(mutex_);
  if (writes != writes_ || kept_.contains(tenant_id)) return;
  if (kept_bytes_ + rules->bytes > kKeptBytesMax) {
    kept_.clear();
    kept_bytes_ = 0;
  }
  kept_bytes_ += rules->bytes;
  kept_.emplace(tenant_id, std::move(rules));
}

}  // namespace everstep
