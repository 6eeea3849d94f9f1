#pragma once

#include <optional>
#include <string>
#include <utility>

#include "queue/endpoint.h"
#include "queue/message.h"
#include "store/state_store.h"

namespace everstep {

// The queue's rows (docs/formats.md). Those of all tenants stand together: the record says whose it
// is.
inline constexpr const char* kQueueRows = "";

inline TenantDocument HeadRow(const MessageHead& head) {
  return {{DocumentKind::kMessage, kQueueRows, head.id}, EncodeMessageHead(head)};
}
inline DocumentKey ContentKey(const std::string& id) {
  return {DocumentKind::kMessageContent, kQueueRows, id};
}
inline TenantDocument EndpointRow(const std::string& place, std::optional<std::string> text) {
  return {{DocumentKind::kEndpoint, kQueueRows, place}, std::move(text)};
}
inline std::string EndpointPlace(const std::string& tenant_id, const std::string& id) {
  return tenant_id + '\0' + id;
}

}  // namespace everstep
