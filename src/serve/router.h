#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/permissions.h"

namespace everstep {

// In place of a size: the body is streamed, up to the size that the settings allow.
inline constexpr std::size_t kStreamedBody = std::numeric_limits<std::size_t>::max();

// One call of the API.
struct Route {
  std::string_view method;
  std::string_view path;                 // "/v1/runs/{runId}/events"
  std::string_view operation;            // the operation id of the OpenAPI document
  std::optional<Permission> permission;  // nullopt: open to everybody
  std::size_t body_bytes_max = 0;

  bool streams_body() const { return body_bytes_max == kStreamedBody; }
};

// All routes. They live as long as the process.
std::span<const Route> Routes();

// The result of routing a request.
struct RouteMatch {
  enum class Outcome : std::uint8_t { kFound, kNotFound, kMethodNotAllowed, kMalformedPath };
  Outcome outcome = Outcome::kNotFound;
  const Route* route = nullptr;  // kFound
  bool head = false;             // HEAD of a GET route: respond without the body
  // Path parameters in order, decoded; names without braces.
  std::vector<std::pair<std::string_view, std::string>> parameters;
  std::string allow;  // kMethodNotAllowed: the value of the Allow header

  const std::string& Parameter(std::string_view name) const;  // must be in the template
};

// Finds the route of a request; the cost depends on the path, not on the number of routes. A
// literal segment takes precedence over a parameter. Immutable, hence thread-safe.
class Router {
 public:
  // `routes` must outlive it.
  explicit Router(std::span<const Route> routes);
  ~Router();

  // `path` is as received. Segments are decoded one by one, so "%2F" is part of a parameter. An
  // empty segment does not match a parameter.
  RouteMatch Match(std::string_view method, std::string_view path) const;

 private:
  struct Node;
  void Add(const Route& route);
  using Words = std::span<const std::string_view>;
  static const Route* Find(const Node& node, Words segments, std::string_view method);
  // Collects the methods allowed for the path, in the order in which they would be found.
  static void FindMethods(const Node& node, Words segments, std::vector<std::string_view>& methods);

  std::unique_ptr<Node> root_;
};

}  // namespace everstep
