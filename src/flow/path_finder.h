#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "flow/document.h"
#include "flow/expression.h"

namespace everstep {

// A position in an expression: a text node and the byte offset in its text.
struct PathPlace {
  const Node* node = nullptr;
  std::string pointer;  // relative to the node that was searched
  std::size_t offset = 0;
};

// Finds the first text below `node` that contains the first two names of `path` or, if there is
// none, its first name. Templates do not record positions, so they are searched when a fault is
// reported.
std::optional<PathPlace> FindPath(const Node& node, const Expression::Path& path);

// Finds the first hole that uses `secrets` for more than a plain reference to one secret.
std::optional<PathPlace> FindSecretInExpression(const Node& node);

}  // namespace everstep
