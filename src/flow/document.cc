#include "flow/document.h"

#include <simdjson.h>

#include <algorithm>
#include <unordered_map>

#include "base/json.h"
#include "base/utf8.h"
#include "flow/document_parser.h"

namespace everstep {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kRepeatedKeysShown = 100;
constexpr std::size_t kSmallMap = 16;

// The byte offset of a position.
std::size_t ByteAt(std::string_view source, Position position) {
  std::size_t at = 0;
  for (std::uint32_t line = 1; line < position.line; ++line) {
    const std::size_t end = source.find('\n', at);
    if (end == std::string_view::npos) return source.size();
    at = end + 1;
  }
  if (at == 0 && source.starts_with(kByteOrderMark)) at = kByteOrderMark.size();
  for (std::uint32_t column = 1; column < position.column && at < source.size(); ++column) {
    ++at;
    while (at < source.size() && ContinuesCharacter(source[at])) ++at;
  }
  return at;
}

Position PositionOf(std::string_view source, std::size_t byte) {
  Position position{1, 1};
  std::size_t start = source.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  for (std::size_t i = start; i < byte && i < source.size(); ++i) {
    if (source[i] != '\n') continue;
    ++position.line;
    start = i + 1;
  }
  for (std::size_t i = start; i < byte && i < source.size(); ++i) {
    if (!ContinuesCharacter(source[i])) ++position.column;
  }
  return position;
}

// Maps the bytes of a text to the bytes of its source notation: quotes, escapes, folded lines.
class TextWalk {
 public:
  TextWalk(std::string_view source, std::size_t at) : source_(source), at_(at) {
    while (At('&') || At('!')) {
      while (at_ < source_.size() && source_[at_] != ' ' && source_[at_] != '\n') ++at_;
      SkipSpace();
    }
    if (At('"') || At('\'')) {
      quote_ = source_[at_++];
    } else if (At('|') || At('>')) {
      at_ = std::min(source_.find('\n', at_), source_.size());
      SkipSpace();
    }
  }

  std::size_t at() const { return at_; }

  bool SkipTo(std::string_view needle) {
    const std::size_t found = source_.find(needle, at_);
    if (found == std::string_view::npos) return false;
    at_ = found;
    return true;
  }

  void SkipPast(std::size_t bytes) { at_ = std::min(at_ + bytes, source_.size()); }

  // Advances by one byte of the text.
  void Step() {
    if (at_ >= source_.size()) return;
    if (source_[at_] == '\n') {
      SkipSpace();
      return;
    }
    const bool escaped = (quote_ == '"' && source_[at_] == '\\') ||
                         (quote_ == '\'' && source_.substr(at_, 2) == "''");
    SkipPast(escaped ? 2 : 1);
  }

 private:
  bool At(char c) const { return at_ < source_.size() && source_[at_] == c; }

  void SkipSpace() {
    while (at_ < source_.size() && (At(' ') || At('\n') || At('\r') || At('\t'))) ++at_;
  }

  std::string_view source_;
  std::size_t at_;
  char quote_ = 0;
};

void WriteNode(const Node& node, JsonWriter& writer) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return writer.Null();
    case Node::Kind::kBool:
      return writer.Bool(node.bool_value());
    case Node::Kind::kInt:
      return writer.Int(node.int_value());
    case Node::Kind::kDouble:
      return writer.Double(node.double_value());
    case Node::Kind::kText:
      return writer.String(node.text());
    case Node::Kind::kList:
      writer.BeginArray();
      for (const Node& item : node.children()) WriteNode(item, writer);
      return writer.EndArray();
    case Node::Kind::kMap:
      writer.BeginObject();
      for (const Node& member : node.children()) {
        writer.Key(member.key);
        WriteNode(member, writer);
      }
      return writer.EndObject();
  }
}

// Unescapes one token of a JSON pointer.
std::string Unescaped(std::string_view token) {
  std::string text;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size()) {
      text.push_back(token[++i] == '1' ? '/' : '~');
    } else {
      text.push_back(token[i]);
    }
  }
  return text;
}

const Node* Child(const Node& node, const std::string& token) {
  if (node.is_map()) return node.Find(token);
  if (!node.is_list() || token.empty()) return nullptr;
  std::size_t index = 0;
  for (const char c : token) {
    if (c < '0' || c > '9' || index > node.children().size()) return nullptr;
    index = index * 10 + static_cast<std::size_t>(c - '0');
  }
  return index < node.children().size() ? &node.children()[index] : nullptr;
}

}  // namespace

const std::vector<Node>& Node::children() const {
  static const std::vector<Node> kNone;
  const auto* list = std::get_if<std::vector<Node>>(&content);
  return list == nullptr ? kNone : *list;
}

const Node* Node::Find(std::string_view key_wanted) const {
  if (!is_map()) return nullptr;
  for (const Node& member : children()) {
    if (member.key == key_wanted) return &member;
  }
  return nullptr;
}

Error DocumentError(Position at, std::string message) {
  return Error{ErrorCode::kInvalidPlan,
               "the document cannot be read",
               {Fault{"", std::move(message), at.line, at.column}}};
}

void DropRepeatedKeys(Node& map, Document& document) {
  auto& members = std::get<std::vector<Node>>(map.content);
  std::unordered_map<std::string_view, const Node*> seen;
  const auto earlier = [&](std::size_t index) -> const Node* {
    const Node& member = members[index];
    if (members.size() > kSmallMap) {
      const auto [found, added] = seen.emplace(member.key, &member);
      return added ? nullptr : found->second;
    }
    for (std::size_t i = 0; i < index; ++i) {
      if (members[i].key == member.key) return &members[i];
    }
    return nullptr;
  };
  std::vector<bool> repeated;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Node* first = earlier(i);
    if (first == nullptr) continue;
    repeated.resize(members.size());
    repeated[i] = true;
    if (document.faults.size() >= kRepeatedKeysShown) continue;
    document.faults.push_back(Fault{"",
                                    "'" + std::string(members[i].key) +
                                        "' is written twice; the first is at line " +
                                        std::to_string(first->key_line) + ", column " +
                                        std::to_string(first->key_column) + ". Keep one of them",
                                    members[i].key_line, members[i].key_column});
  }
  if (repeated.empty()) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (repeated[i]) continue;
    if (kept != i) members[kept] = std::move(members[i]);
    ++kept;
  }
  members.resize(kept);
}

Result<Document> ParseDocument(std::string_view text, std::size_t bytes_max) {
  if (text.size() > bytes_max) {
    return DocumentError({}, "the document has " + std::to_string(text.size()) +
                                 " bytes; the limit is " + std::to_string(bytes_max));
  }
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    return DocumentError({}, "the document is not UTF-8; save it in that encoding");
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return DocumentError({1, 1}, "the document is empty");
  if (text[first] == '{' || text[first] == '[') return ParseJsonDocument(text);
  return ParseYamlDocument(text);
}

Value ToValue(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return Value::Null();
    case Node::Kind::kBool:
      return Value::Bool(node.bool_value());
    case Node::Kind::kInt:
      return Value::Int(node.int_value());
    case Node::Kind::kDouble:
      return Value::Double(node.double_value());
    case Node::Kind::kText:
      return Value::Text(std::string(node.text()));
    case Node::Kind::kList: {
      ValueList items;
      items.reserve(node.children().size());
      for (const Node& item : node.children()) items.push_back(ToValue(item));
      return Value::List(std::move(items));
    }
    case Node::Kind::kMap:
      break;
  }
  ValueMap members;
  members.reserve(node.children().size());
  for (const Node& member : node.children()) {
    members.emplace_back(std::string(member.key), ToValue(member));
  }
  return Value::Map(std::move(members));
}

std::string ToJson(const Node& node) {
  std::string json;
  JsonWriter writer(json);
  WriteNode(node, writer);
  return json;
}

std::string_view KindName(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "null";
    case Node::Kind::kBool:
      return "true or false";
    case Node::Kind::kInt:
    case Node::Kind::kDouble:
      return "a number";
    case Node::Kind::kText:
      return "text";
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kMap:
      break;
  }
  return "a map";
}

const Node& NodeAt(const Node& node, std::string_view pointer) {
  const Node* at = &node;
  while (pointer.starts_with('/')) {
    const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
    const Node* child = Child(*at, Unescaped(pointer.substr(1, end - 1)));
    if (child == nullptr) break;
    at = child;
    pointer.remove_prefix(end);
  }
  return *at;
}

Position Locate(std::string_view source, const Node& node, std::size_t offset) {
  const Position start{node.line, node.column};
  if (!node.is_text() || node.line == 0) return start;
  const std::string_view text = node.text();
  TextWalk walk(source, ByteAt(source, start));
  // Escapes and folding change the text between holes, but each hole starts with the same bytes in
  // the text and in the source.
  constexpr std::string_view kHole = "{{";
  std::size_t done = 0;
  for (std::size_t hole = text.find(kHole); hole <= offset && hole != std::string_view::npos;
       hole = text.find(kHole, hole + kHole.size())) {
    if (done > 0) walk.SkipPast(kHole.size());
    if (!walk.SkipTo(kHole)) return start;
    done = hole;
  }
  for (; done < offset && done < text.size(); ++done) walk.Step();
  return PositionOf(source, walk.at());
}

}  // namespace everstep
