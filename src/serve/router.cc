#include "serve/router.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "base/percent_decode.h"

namespace everstep {
namespace {

// More segments than any route has; longer paths match nothing.
constexpr std::size_t kSegmentsMax = 16;

struct Segments {
  std::array<std::string_view, kSegmentsMax> parts;
  std::size_t count = 0;  // may exceed the capacity of `parts`

  std::span<const std::string_view> all() const { return {parts.data(), count}; }
};

Segments SegmentsOf(std::string_view path) {
  Segments segments;
  for (; path.starts_with('/'); ++segments.count) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    if (segments.count < kSegmentsMax) segments.parts[segments.count] = path.substr(0, end);
    path.remove_prefix(end);
  }
  return segments;
}

bool IsParameter(std::string_view segment) { return segment.starts_with('{'); }

std::string AllowOf(const std::vector<std::string_view>& methods) {
  std::string allow;
  const auto add = [&](std::string_view method) {
    if (!allow.empty()) allow += ", ";
    allow.append(method);
  };
  for (std::size_t i = 0; i < methods.size(); ++i) {
    const auto end = methods.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(methods.begin(), end, methods[i]) != end) continue;
    add(methods[i]);
    if (methods[i] == "GET") add("HEAD");
  }
  return allow;
}

}  // namespace

struct Router::Node {
  std::vector<std::pair<std::string_view, std::unique_ptr<Node>>> words;
  std::unique_ptr<Node> parameter;
  std::vector<const Route*> routes;  // routes that end here, one per method
};

const std::string& RouteMatch::Parameter(std::string_view name) const {
  for (const auto& [key, value] : parameters) {
    if (key == name) return value;
  }
  EVERSTEP_ASSERT(!"a parameter that the route does not have");
}

Router::Router(std::span<const Route> routes) : root_(std::make_unique<Node>()) {
  for (const Route& route : routes) Add(route);
}

Router::~Router() = default;

void Router::Add(const Route& route) {
  Node* node = root_.get();
  const Segments segments = SegmentsOf(route.path);
  EVERSTEP_ASSERT(segments.count <= kSegmentsMax);
  for (const std::string_view segment : segments.all()) {
    if (IsParameter(segment)) {
      if (!node->parameter) node->parameter = std::make_unique<Node>();
      node = node->parameter.get();
      continue;
    }
    const auto found = std::find_if(node->words.begin(), node->words.end(),
                                    [&](const auto& word) { return word.first == segment; });
    if (found != node->words.end()) {
      node = found->second.get();
    } else {
      node = node->words.emplace_back(segment, std::make_unique<Node>()).second.get();
    }
  }
  for (const Route* other : node->routes) EVERSTEP_ASSERT(other->method != route.method);
  node->routes.push_back(&route);
}

// If a literal segment matches but its method does not, try the parameter next to it: GET
// /v1/plans/check is the plan named "check".
const Route* Router::Find(const Node& node, Words segments, std::string_view method) {
  if (segments.empty()) {
    const auto found = std::ranges::find(node.routes, method, &Route::method);
    return found == node.routes.end() ? nullptr : *found;
  }
  for (const auto& [word, next] : node.words) {
    if (word != segments.front()) continue;
    if (const Route* found = Find(*next, segments.subspan(1), method)) return found;
  }
  if (!node.parameter || segments.front().empty()) return nullptr;
  return Find(*node.parameter, segments.subspan(1), method);
}

void Router::FindMethods(const Node& node, Words segments, std::vector<std::string_view>& methods) {
  if (segments.empty()) {
    for (const Route* route : node.routes) methods.push_back(route->method);
    return;
  }
  for (const auto& [word, next] : node.words) {
    if (word == segments.front()) FindMethods(*next, segments.subspan(1), methods);
  }
  if (!node.parameter || segments.front().empty()) return;
  FindMethods(*node.parameter, segments.subspan(1), methods);
}

RouteMatch Router::Match(std::string_view method, std::string_view path) const {
  RouteMatch match;
  Segments segments = SegmentsOf(path);
  if (!path.starts_with('/') || segments.count > kSegmentsMax) return match;
  // Fast path: most segments need no decoding.
  std::vector<std::string> decoded;
  for (std::string_view& segment : std::span(segments.parts).first(segments.count)) {
    if (std::ranges::all_of(segment, StandsForItself)) continue;
    auto meant = PercentDecode(segment, PlusMeans::kPlus);
    if (!meant) {
      match.outcome = RouteMatch::Outcome::kMalformedPath;
      return match;
    }
    decoded.reserve(segments.count);  // views into the elements must stay valid
    segment = decoded.emplace_back(*std::move(meant));
  }
  match.head = method == "HEAD";
  match.route = Find(*root_, segments.all(), match.head ? "GET" : method);
  if (match.route == nullptr) {
    std::vector<std::string_view> allowed;
    FindMethods(*root_, segments.all(), allowed);
    if (allowed.empty()) return match;
    match.outcome = RouteMatch::Outcome::kMethodNotAllowed;
    match.allow = AllowOf(allowed);
    return match;
  }
  match.outcome = RouteMatch::Outcome::kFound;
  if (match.route->path.find('{') == std::string_view::npos) return match;
  const Segments names = SegmentsOf(match.route->path);
  for (std::size_t i = 0; i < names.count; ++i) {
    const std::string_view name = names.parts[i];
    if (!IsParameter(name)) continue;
    match.parameters.emplace_back(name.substr(1, name.size() - 2), segments.parts[i]);
  }
  return match;
}

}  // namespace everstep
