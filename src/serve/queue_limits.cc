#include "serve/queue_limits.h"

#include <array>
#include <utility>

#include "wire/wire.h"

namespace everstep {
namespace {

constexpr std::size_t kLimitsPerTenantMax = 1'000;
constexpr std::size_t kNameBytesMax = 200;  // same as in RemoteWork

struct QueueLimit {
  std::uint32_t concurrency = 0;
};
template <typename F>
void Describe(F& f, QueueLimit& limit) {
  f.Required("concurrency", limit.concurrency);
}

// The tenant is empty so that one listing returns all limits. Tenant ids contain no NUL.
DocumentKey DocumentOf(const std::string& tenant_id, const std::string& queue) {
  return {DocumentKind::kQueue, "", tenant_id + '\0' + queue};
}

}  // namespace

QueueLimits::QueueLimits(StateStore& store, Committer& committer, RemoteWork& work)
    : store_(store), committer_(committer), work_(work) {
  // Ignore the error: components that depend on the store report it.
  (void)Load();
}

Status QueueLimits::Load() {
  DocumentQuery query;
  query.kind = DocumentKind::kQueue;
  while (true) {
    const auto page = store_.Read()->ListDocuments(query);
    if (!page) return page.error();
    if (page->empty()) return Ok();
    query.after = page->back().key.name;
    for (const TenantDocument& document : *page) {
      const std::string& name = document.key.name;
      const std::size_t end = name.find('\0');
      const auto limit = FromWire<QueueLimit>(*document.text, UnknownMembers::kIgnore);
      if (end == std::string::npos || !limit) continue;
      (void)work_.SetConcurrency(name.substr(0, end), name.substr(end + 1), limit->concurrency);
    }
  }
}

Status QueueLimits::Set(const std::string& tenant_id, const std::string& queue,
                        std::uint32_t limit) {
  if (queue.empty() || queue.size() > kNameBytesMax) {
    return Error{ErrorCode::kInvalidArgument, "a queue name must have 1 to 200 bytes", {}};
  }
  const std::lock_guard lock(mutex_);
  const DocumentKey key = DocumentOf(tenant_id, queue);
  if (limit > 0) {
    DocumentQuery others;
    others.kind = DocumentKind::kQueue;
    others.prefix = tenant_id + '\0';
    others.limit = kLimitsPerTenantMax;
    const auto reader = store_.Read();
    const auto found = reader->FindDocument(key);
    if (!found) return found.error();
    const auto all = reader->ListDocuments(others);
    if (!all) return all.error();
    if (!*found && all->size() >= kLimitsPerTenantMax) {
      return Error{ErrorCode::kAdmissionRejected,
                   "limits are already set for " + std::to_string(kLimitsPerTenantMax) +
                       " queues; remove one with {\"concurrency\": 0}",
                   {}};
    }
  }
  const Status put =
      committer_.Put({{key, limit > 0 ? std::optional(ToWire(QueueLimit{limit})) : std::nullopt}});
  if (!put) return put;
  return work_.SetConcurrency(tenant_id, queue, limit);
}

}  // namespace everstep
