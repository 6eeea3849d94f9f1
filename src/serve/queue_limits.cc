#include "serve/queue_limits.h"

#include <algorithm>
#include <utility>

#include "wire/stored.h"

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
  loaded_ = Load();
}

Status QueueLimits::Load() {
  Status loaded = Ok();
  DocumentQuery query;
  query.kind = DocumentKind::kQueue;
  while (true) {
    const auto page = store_.Read()->ListDocuments(query);
    if (!page) return page.error();
    if (page->empty()) return loaded;
    query.after = page->back().key.name;
    for (const TenantDocument& document : *page) {
      const std::string& name = document.key.name;
      const std::size_t end = std::min(name.find('\0'), name.size());
      const std::string tenant_id = name.substr(0, end);
      const std::string queue = name.substr(std::min(end + 1, name.size()));
      const auto limit = FromStored<QueueLimit>(
          *document.text, "limit of queue " + queue + " of tenant " + tenant_id);
      const Status set = limit ? work_.SetConcurrency(tenant_id, queue, limit->concurrency)
                               : Status(limit.error());
      if (!set) loaded = set;
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
