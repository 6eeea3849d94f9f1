#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace everstep {

// Where messages are pushed to: an application that said it takes them.
struct Endpoint {
  struct Route {
    std::string topic_prefix;
    std::string url;

    bool operator==(const Route&) const = default;
  };

  std::string tenant_id;
  std::string id;  // of the application's process
  std::vector<Route> routes;
  std::string secret;             // signs what is delivered
  std::uint32_t concurrency = 1;  // deliveries at once
  bool on_this_machine = false;   // it called over loopback, and may be called so

  // Where a message of the topic goes; null: not here. The longest prefix wins.
  const std::string* UrlFor(std::string_view topic) const;

  bool operator==(const Endpoint&) const = default;
};

std::string EncodeEndpoint(const Endpoint& endpoint);
std::optional<Endpoint> DecodeEndpoint(std::string_view bytes);

}  // namespace everstep
