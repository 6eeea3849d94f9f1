#include "queue/endpoint.h"

#include "base/bytes.h"

namespace everstep {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kRoutesMax = 64;

}  // namespace

const std::string* Endpoint::UrlFor(std::string_view topic) const {
  const Route* best = nullptr;
  for (const Route& route : routes) {
    if (!topic.starts_with(route.topic_prefix)) continue;
    if (best == nullptr || route.topic_prefix.size() > best->topic_prefix.size()) best = &route;
  }
  return best == nullptr ? nullptr : &best->url;
}

std::string EncodeEndpoint(const Endpoint& endpoint) {
  std::string bytes;
  ByteWriter out(bytes);
  out.U8(kVersion);
  out.U8(endpoint.on_this_machine ? 1 : 0);
  out.String(endpoint.tenant_id);
  out.String(endpoint.id);
  out.String(endpoint.secret);
  out.Varint(endpoint.concurrency);
  out.Varint(endpoint.routes.size());
  for (const Endpoint::Route& route : endpoint.routes) {
    out.String(route.topic_prefix);
    out.String(route.url);
  }
  return bytes;
}

std::optional<Endpoint> DecodeEndpoint(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.U8() != kVersion) return std::nullopt;
  Endpoint endpoint;
  endpoint.on_this_machine = in.U8() != 0;
  endpoint.tenant_id = in.String();
  endpoint.id = in.String();
  endpoint.secret = in.String();
  const std::uint64_t concurrency = in.Varint();
  endpoint.concurrency = static_cast<std::uint32_t>(concurrency);
  const std::uint64_t routes = in.Varint();
  if (routes > kRoutesMax) return std::nullopt;
  for (std::uint64_t i = 0; i < routes; ++i) {
    std::string prefix(in.String());
    endpoint.routes.push_back({std::move(prefix), std::string(in.String())});
  }
  if (!in.ok() || !in.AtEnd()) return std::nullopt;
  const bool is_valid = !endpoint.routes.empty() && concurrency >= 1 && concurrency <= UINT32_MAX;
  return is_valid ? std::optional(std::move(endpoint)) : std::nullopt;
}

}  // namespace everstep
