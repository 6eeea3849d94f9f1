#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/value.h"
#include "everstep/result.h"

namespace everstep {

inline constexpr std::size_t kDocumentDepthMax = 64;
inline constexpr std::size_t kDocumentNodesMax = 1'000'000;
// Limits on what all YAML aliases of a document may add: values, and bytes of their texts and keys.
// A few bytes of aliases must not expand into a huge tree, or into huge text when it is written.
inline constexpr std::size_t kDocumentAliasNodesMax = 100'000;
inline constexpr std::size_t kDocumentAliasBytesMax = 4 << 20;
inline constexpr std::size_t kDocumentAnchorsMax = 10'000;

// A value of a document and its position. Lines and columns count from 1, columns in characters.
struct Node {
  enum class Kind : std::uint8_t { kNull, kBool, kInt, kDouble, kText, kList, kMap };

  Kind kind = Kind::kNull;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t key_line = 0;  // position of the key, for a member of a map
  std::uint32_t key_column = 0;
  std::string_view key;  // for a member of a map
  std::variant<std::monostate, bool, std::int64_t, double, std::string_view, std::vector<Node>>
      content;

  bool is_text() const { return kind == Kind::kText; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }

  // Each requires a node of that kind.
  bool bool_value() const { return std::get<bool>(content); }
  std::int64_t int_value() const { return std::get<std::int64_t>(content); }
  double double_value() const { return std::get<double>(content); }
  std::string_view text() const { return std::get<std::string_view>(content); }
  // The items of a list or members of a map, in document order; empty for other kinds.
  const std::vector<Node>& children() const;

  const Node* Find(std::string_view key_wanted) const;  // null if there is no such member
};

// A parsed document. Its nodes point into it and into the source text.
struct Document {
  Node root;
  std::deque<std::string> texts;  // texts that differ from the source: escapes, folded lines
  std::vector<Fault> faults;      // repeated keys; the tree keeps the first of each
};

// Parses YAML 1.2 with the core schema (`no` and `yes` are text), or JSON if the first character is
// '{' or '['. `text` must outlive the document. Returns kInvalidPlan with the position of the first
// syntax error. Also returns kInvalidPlan if the text is larger than `bytes_max`, nested deeper
// than kDocumentDepthMax, or exceeds the limits above on values, anchors or alias copies; these are
// checked before the memory is allocated.
Result<Document> ParseDocument(std::string_view text, std::size_t bytes_max);

Value ToValue(const Node& node);
std::string ToJson(const Node& node);

// "text", "a list" and so on, for messages.
std::string_view KindName(const Node& node);

// The node that an RFC 6901 pointer selects inside `node`, or its nearest existing ancestor.
const Node& NodeAt(const Node& node, std::string_view pointer);

struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};
// The position in `source` of byte `offset` of the text of `node`. Exact for text on one line,
// approximate after escapes and folded lines.
Position Locate(std::string_view source, const Node& node, std::size_t offset);

}  // namespace everstep
