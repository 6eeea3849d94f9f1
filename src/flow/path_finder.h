#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "flow/document.h"
#include "flow/expression.h"

namespace everstep {

// Where an expression speaks of something: a text below a node, and the byte in it.
struct PathPlace {
  const Node* node = nullptr;
  std::string pointer;  // below the node that was searched
  std::size_t offset = 0;
};

// The first text below `node` in which `path` is written, as its first two names or, failing that,
// its first one. Templates keep no places; this looks for them when there is a fault to show.
std::optional<PathPlace> FindPath(const Node& node, const Expression::Path& path);

// The first hole with `secrets` in it that is more than the secret's name.
std::optional<PathPlace> FindSecretInExpression(const Node& node);

}  // namespace everstep
