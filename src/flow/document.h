#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "everstep/result.h"
#include "flow/value.h"

namespace everstep {

inline constexpr std::size_t kDocumentDepthMax = 64;
inline constexpr std::size_t kDocumentNodesMax = 1'000'000;
// What YAML aliases may add in all, in values and in bytes of their texts and keys: a few bytes of
// aliases must not become a huge tree, nor a huge text when the tree is written out.
inline constexpr std::size_t kDocumentAliasNodesMax = 100'000;
inline constexpr std::size_t kDocumentAliasBytesMax = 4 << 20;
inline constexpr std::size_t kDocumentAnchorsMax = 10'000;

// A value of a document and where it stands there. Lines and columns count from 1, columns in
// characters.
struct Node {
  enum class Kind : std::uint8_t { kNull, kBool, kInt, kDouble, kText, kList, kMap };

  Kind kind = Kind::kNull;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t key_line = 0;  // of the key, in a map
  std::uint32_t key_column = 0;
  std::string_view key;  // in a map
  std::variant<std::monostate, bool, std::int64_t, double, std::string_view, std::vector<Node>>
      content;

  bool is_text() const { return kind == Kind::kText; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }

  // Of a node of that kind only.
  bool bool_value() const { return std::get<bool>(content); }
  std::int64_t int_value() const { return std::get<std::int64_t>(content); }
  double double_value() const { return std::get<double>(content); }
  std::string_view text() const { return std::get<std::string_view>(content); }
  // Items of a list or members of a map, in the order written; none of another kind.
  const std::vector<Node>& children() const;

  const Node* Find(std::string_view key_wanted) const;  // null: no such member
};

// A parsed document. Nodes refer to it and to the text it was made from.
struct Document {
  Node root;
  std::deque<std::string> texts;  // what is not in the source as it stands: escapes, folded lines
  std::vector<Fault> faults;      // repeated keys; the first one of each is in the tree
};

// YAML 1.2 with its core scalars (`no` and `yes` are text), or JSON when the first character is
// '{' or '['. `text` must outlive the document. kInvalidPlan with the place where it stops being
// one; also for what is larger than `bytes_max`, nested deeper than kDocumentDepthMax, or has more
// values, anchors or copies by aliases than the limits above: refused before the memory is taken.
Result<Document> ParseDocument(std::string_view text, std::size_t bytes_max);

Value ToValue(const Node& node);
std::string ToJson(const Node& node);

// "a text", "a list" …: for faults.
std::string_view KindName(const Node& node);

// The node that an RFC 6901 pointer names inside `node`; the nearest one above when it names none.
const Node& NodeAt(const Node& node, std::string_view pointer);

struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};
// Where byte `offset` of the text of `node` stands in `source`. Exact for what is written on one
// line; for escapes and folded lines as near as can be told.
Position Locate(std::string_view source, const Node& node, std::size_t offset);

}  // namespace everstep
