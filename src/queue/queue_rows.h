#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "queue/endpoint.h"
#include "queue/message.h"
#include "store/state_store.h"

namespace everstep {

// The rows of the queue (docs/formats.md). The rows of all tenants are stored together under this
// tenant id; the record contains the actual tenant.
inline constexpr const char* kQueueRows = "";

inline std::string MessagePlace(const MessageHead& head) { return head.tenant_id + '\0' + head.id; }
inline TenantDocument HeadRow(const MessageHead& head) {
  return {{DocumentKind::kMessage, kQueueRows, MessagePlace(head)}, EncodeMessageHead(head)};
}
// The id of the message in a row of this name. Earlier versions named the row after the id alone.
inline std::string_view MessageIdOf(std::string_view row_name) {
  return row_name.substr(row_name.find('\0') + 1);
}
// The key of the content includes tenant and group, so that it can be found and removed with a run.
inline DocumentKey ContentKey(const MessageHead& head) {
  return {DocumentKind::kMessageContent, head.tenant_id, head.group + '\0' + head.id};
}
inline void PutRemoval(const MessageHead& head, std::vector<TenantDocument>& rows) {
  rows.push_back({{DocumentKind::kMessage, kQueueRows, MessagePlace(head)}, std::nullopt});
  rows.push_back({ContentKey(head), std::nullopt});
}
inline TenantDocument EndpointRow(const std::string& place, std::optional<std::string> text) {
  return {{DocumentKind::kEndpoint, kQueueRows, place}, std::move(text)};
}
inline std::string EndpointPlace(const std::string& tenant_id, const std::string& id) {
  return tenant_id + '\0' + id;
}

}  // namespace everstep
