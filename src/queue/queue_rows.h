#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "queue/endpoint.h"
#include "queue/message.h"
#include "store/state_store.h"

namespace everstep {

// The rows of the queue (docs/formats.md). The rows of all tenants are stored together under this
// tenant id; the record contains the actual tenant.
inline constexpr const char* kQueueRows = "";

inline TenantDocument HeadRow(const MessageHead& head) {
  return {{DocumentKind::kMessage, kQueueRows, head.id}, EncodeMessageHead(head)};
}
// The key of the content includes tenant and group, so that it can be found and removed with a run.
inline DocumentKey ContentKey(const MessageHead& head) {
  return {DocumentKind::kMessageContent, head.tenant_id, head.group + '\0' + head.id};
}
inline void PutRemoval(const MessageHead& head, std::vector<TenantDocument>& rows) {
  rows.push_back({{DocumentKind::kMessage, kQueueRows, head.id}, std::nullopt});
  rows.push_back({ContentKey(head), std::nullopt});
}
inline TenantDocument EndpointRow(const std::string& place, std::optional<std::string> text) {
  return {{DocumentKind::kEndpoint, kQueueRows, place}, std::move(text)};
}
inline std::string EndpointPlace(const std::string& tenant_id, const std::string& id) {
  return tenant_id + '\0' + id;
}

}  // namespace everstep
