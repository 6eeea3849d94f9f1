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

// In place of a size: the body is handed on as it comes, as large as the settings allow.
inline constexpr std::size_t kStreamedBody = std::numeric_limits<std::size_t>::max();

// One call of the API.
struct Route {
  std::string_view method;
  std::string_view path;                 // "/v1/runs/{runId}/events"
  std::string_view operation;            // the operation id of the OpenAPI document
  std::optional<Permission> permission;  // nothing: open to everybody
  std::size_t body_bytes_max = 0;

  bool streams_body() const { return body_bytes_max == kStreamedBody; }
};

// All calls. Lives as long as the process.
std::span<const Route> Routes();

// What a request asks for.
struct RouteMatch {
  enum class Outcome : std::uint8_t { kFound, kNotFound, kMethodNotAllowed, kMalformedPath };
  Outcome outcome = Outcome::kNotFound;
  const Route* route = nullptr;  // kFound
  bool head = false;             // HEAD of a GET: the answer without its body
  // Of the path, decoded, in its order; names without braces.
  std::vector<std::pair<std::string_view, std::string>> parameters;
  std::string allow;  // kMethodNotAllowed: for the header

  const std::string& Parameter(std::string_view name) const;  // must be in the template
};

// Finds the route of a request in time that grows with the path, not with the number of routes. A
// word of a template goes before a parameter. Immutable: any thread.
class Router {
 public:
  // `routes` must outlive it.
  explicit Router(std::span<const Route> routes);
  ~Router();

  // `path` as sent. Segments are decoded one by one: "%2F" is a part of a parameter. An empty
  // segment is no parameter.
  RouteMatch Match(std::string_view method, std::string_view path) const;

 private:
  struct Node;
  void Add(const Route& route);
  using Words = std::span<const std::string_view>;
  static const Route* Find(const Node& node, Words segments, std::string_view method);
  // The methods that the path has, in the order in which they would be found.
  static void FindMethods(const Node& node, Words segments, std::vector<std::string_view>& methods);

  std::unique_ptr<Node> root_;
};

}  // namespace everstep
