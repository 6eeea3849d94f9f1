#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace everstep {

// An application that has registered to receive messages.
struct Endpoint {
  struct Route {
    std::string topic_prefix;
    std::string url;

    bool operator==(const Route&) const = default;
  };

  std::string tenant_id;
  std::string id;  // of the application's process
  std::vector<Route> routes;
  std::string secret;             // the key for signing deliveries
  std::uint32_t concurrency = 1;  // concurrent deliveries
  bool on_this_machine = false;   // registered over loopback, so loopback URLs are allowed

  // Returns the URL for messages of the topic, by the longest matching prefix, or null if the
  // endpoint does not accept the topic.
  const std::string* UrlFor(std::string_view topic) const;

  bool operator==(const Endpoint&) const = default;
};

std::string EncodeEndpoint(const Endpoint& endpoint);
std::optional<Endpoint> DecodeEndpoint(std::string_view bytes);

}  // namespace everstep
