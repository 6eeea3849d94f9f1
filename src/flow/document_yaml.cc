#include <yaml.h>

#include <charconv>
#include <cmath>
#include <system_error>
#include <unordered_map>

#include "base/assert.h"
#include "flow/document_parser.h"

namespace everstep {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view AsText(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (text == word) return true;
  }
  return false;
}

// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool LooksLikeNumber(std::string_view text, bool& integer) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    return at - begin;
  };
  integer = true;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  const std::size_t whole = digits();
  std::size_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    integer = false;
    ++at;
    fraction = digits();
  }
  if (whole + fraction == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    integer = false;
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

bool ReadInteger(std::string_view digits, int base, Node& node) {
  if (digits.starts_with('+')) digits.remove_prefix(1);
  std::int64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  node.kind = Node::Kind::kInt;
  node.content = value;
  return read.ec == std::errc() && read.ptr == digits.data() + digits.size();
}

bool ReadDouble(std::string_view digits, Node& node) {
  if (digits.starts_with('+')) digits.remove_prefix(1);
  double value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  node.kind = Node::Kind::kDouble;
  node.content = value;
  return read.ec == std::errc() && std::isfinite(value);
}

enum class Plain : std::uint8_t { kRead, kText, kTooLarge, kNotFinite };

// Reads a plain scalar by the core schema of YAML 1.2.
Plain ReadPlain(std::string_view text, Node& node) {
  if (text.empty() || IsOneOf(text, {"~", "null", "Null", "NULL"})) {
    node.kind = Node::Kind::kNull;
    return Plain::kRead;
  }
  const bool is_true = IsOneOf(text, {"true", "True", "TRUE"});
  if (is_true || IsOneOf(text, {"false", "False", "FALSE"})) {
    node.kind = Node::Kind::kBool;
    node.content = is_true;
    return Plain::kRead;
  }
  const char first = text[0];
  if (!IsDigit(first) && first != '-' && first != '+' && first != '.') return Plain::kText;
  bool integer = false;
  if (LooksLikeNumber(text, integer)) {
    const bool fits = integer ? ReadInteger(text, 10, node) : ReadDouble(text, node);
    return fits ? Plain::kRead : Plain::kTooLarge;
  }
  if (text.size() > 2 && first == '0' && (text[1] == 'x' || text[1] == 'o')) {
    const bool hex = text[1] == 'x';
    const std::string_view digits = text.substr(2);
    const char* allowed = hex ? "0123456789abcdefABCDEF" : "01234567";
    if (digits.find_first_not_of(allowed) != std::string_view::npos) return Plain::kText;
    return ReadInteger(digits, hex ? 16 : 8, node) ? Plain::kRead : Plain::kTooLarge;
  }
  std::string_view unsigned_text = text;
  if (first == '-' || first == '+') unsigned_text.remove_prefix(1);
  const bool infinite = IsOneOf(unsigned_text, {".inf", ".Inf", ".INF"});
  if (infinite || IsOneOf(text, {".nan", ".NaN", ".NAN"})) return Plain::kNotFinite;
  return Plain::kText;
}

// The events of libyaml, one at a time. Each is freed before the next is read.
class EventSource {
 public:
  explicit EventSource(std::string_view text) {
    EVERSTEP_ASSERT(yaml_parser_initialize(&parser_) == 1);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~EventSource() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;

  bool Next() {
    yaml_event_delete(&event_);
    return yaml_parser_parse(&parser_, &event_) == 1;
  }

  const yaml_event_t& event() const { return event_; }

  Position Here() const { return PositionOf(event_.start_mark); }

  Error Failure() const {
    const char* problem = parser_.problem == nullptr ? "out of memory" : parser_.problem;
    std::string message = "not YAML: " + std::string(problem);
    if (parser_.context != nullptr) message.append(" ").append(parser_.context);
    const yaml_mark_t& mark = parser_.problem_mark;
    return DocumentError(PositionOf(mark), std::move(message));
  }

 private:
  static Position PositionOf(const yaml_mark_t& mark) {
    return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
  }

  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

class YamlParser {
 public:
  explicit YamlParser(std::string_view text) : source_(text) {}

  // Each Read method starts at the current event and leaves the last event of its node current.
  Result<Document> Parse() {
    if (!Next() || !Next()) return std::move(error_);
    if (source_.event().type == YAML_STREAM_END_EVENT) {
      return DocumentError({1, 1}, "the document is empty");
    }
    if (!Next() || !ReadNode(document_.root, 0) || !Next() || !Next()) return std::move(error_);
    if (source_.event().type != YAML_STREAM_END_EVENT) {
      return DocumentError(source_.Here(),
                           "a second document begins here; remove it, a file can hold only one");
    }
    return std::move(document_);
  }

 private:
  // The size of a part of the document: values, and bytes of their texts and keys.
  struct Size {
    std::size_t nodes = 0;
    std::size_t bytes = 0;
  };
  struct Anchored {
    Node node;
    Size size;
    std::size_t depth = 0;
  };

  bool Next() {
    if (source_.Next()) return true;
    error_ = source_.Failure();
    return false;
  }

  bool Fail(std::string message) {
    error_ = DocumentError(source_.Here(), std::move(message));
    return false;
  }

  bool ReadNode(Node& node, std::size_t depth) {
    node.line = source_.Here().line;
    node.column = source_.Here().column;
    const yaml_event_t& event = source_.event();
    if (event.type == YAML_ALIAS_EVENT) return ReadAlias(node, depth);
    const Size before = read_;
    if (++read_.nodes > kDocumentNodesMax) return FailValues();
    std::string anchor;
    if (event.type == YAML_SCALAR_EVENT) {
      anchor = AsText(event.data.scalar.anchor);
      if (!ReadScalar(node)) return false;
    } else {
      const bool map = event.type == YAML_MAPPING_START_EVENT;
      EVERSTEP_ASSERT(map || event.type == YAML_SEQUENCE_START_EVENT);
      anchor = AsText(map ? event.data.mapping_start.anchor : event.data.sequence_start.anchor);
      if (!ReadChildren(node, map, depth + 1)) return false;
    }
    if (anchor.empty()) return true;
    return Keep(std::move(anchor), node, {read_.nodes - before.nodes, read_.bytes - before.bytes});
  }

  bool FailValues() {
    return Fail("the document has more than " + std::to_string(kDocumentNodesMax) + " values");
  }

  // Anchored values are copied and can be nested, so the size of the copies is bounded like that of
  // the aliases. A value that is too large for any alias is not copied.
  bool Keep(std::string anchor, const Node& node, const Size& size) {
    if (anchors_.size() >= kDocumentAnchorsMax && !anchors_.contains(anchor)) {
      return Fail("the document has more than " + std::to_string(kDocumentAnchorsMax) +
                  " anchors; write fewer of them");
    }
    if (size.nodes > kDocumentAliasNodesMax) {
      anchors_[std::move(anchor)] = {Node(), size, 0};
      return true;
    }
    kept_nodes_ += size.nodes;
    if (kept_nodes_ > 4 * kDocumentAliasNodesMax)
      return Fail("the anchored values of this document are too large; use fewer anchors");
    anchors_[std::move(anchor)] = {node, size, Depth(node)};
    return true;
  }

  bool ReadAlias(Node& node, std::size_t depth) {
    const std::string name(AsText(source_.event().data.alias.anchor));
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) {
      return Fail("*" + name + " refers to no value; &" + name + " must come before it");
    }
    const Anchored& anchored = found->second;
    if (!Charge(anchored.size)) {
      return Fail("the aliases of this document make it too large: they add more than " +
                  std::to_string(kDocumentAliasNodesMax) + " values or " +
                  std::to_string(kDocumentAliasBytesMax) + " bytes; write fewer of them");
    }
    if (depth + anchored.depth > kDocumentDepthMax) return FailDepth();
    node.kind = anchored.node.kind;
    node.content = anchored.node.content;
    node.line = anchored.node.line;
    node.column = anchored.node.column;
    return true;
  }

  // Adds the size of an alias and returns false if it exceeds a limit. Aliases share the bytes of
  // their texts in the tree, but values made from the tree do not, so the bytes count as well.
  bool Charge(const Size& size) {
    aliased_.nodes += size.nodes;
    aliased_.bytes += size.bytes;
    read_.nodes += size.nodes;
    read_.bytes += size.bytes;
    return aliased_.nodes <= kDocumentAliasNodesMax && aliased_.bytes <= kDocumentAliasBytesMax &&
           read_.nodes <= kDocumentNodesMax;
  }

  static std::size_t Depth(const Node& node) {
    if (!node.is_list() && !node.is_map()) return 0;
    std::size_t depth = 0;
    for (const Node& child : node.children()) depth = std::max(depth, Depth(child));
    return depth + 1;
  }

  bool FailDepth() {
    return Fail("nested deeper than " + std::to_string(kDocumentDepthMax) + " levels");
  }

  bool ReadChildren(Node& node, bool map, std::size_t depth) {
    if (depth > kDocumentDepthMax) return FailDepth();
    const auto& data = source_.event().data;
    const std::string_view tag = AsText(map ? data.mapping_start.tag : data.sequence_start.tag);
    const std::string_view own = map ? YAML_MAP_TAG : YAML_SEQ_TAG;
    if (!tag.empty() && tag != "!" && tag != own) return FailTag(tag);
    node.kind = map ? Node::Kind::kMap : Node::Kind::kList;
    node.content.emplace<std::vector<Node>>();
    auto& children = std::get<std::vector<Node>>(node.content);
    const yaml_event_type_t end = map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    while (true) {
      if (!Next()) return false;
      if (source_.event().type == end) break;
      Node& child = children.emplace_back();
      if (map && !ReadKey(child)) return false;
      if (!ReadNode(child, depth)) return false;
    }
    if (map) DropRepeatedKeys(node, document_);
    return true;
  }

  bool ReadKey(Node& child) {
    const yaml_event_t& event = source_.event();
    if (event.type != YAML_SCALAR_EVENT) return Fail("a key must be text");
    child.key_line = source_.Here().line;
    child.key_column = source_.Here().column;
    const auto& scalar = event.data.scalar;
    if (scalar.style == YAML_PLAIN_SCALAR_STYLE && AsText(scalar.value) == "<<") {
      return Fail("YAML 1.2 has no merge key; write the fields out, or use an alias as a value");
    }
    child.key = Kept();
    return Next();
  }

  std::string_view Kept() {
    const auto& scalar = source_.event().data.scalar;
    read_.bytes += scalar.length;
    return document_.texts.emplace_back(reinterpret_cast<const char*>(scalar.value), scalar.length);
  }

  bool FailTag(std::string_view tag) {
    return Fail("the tag " + std::string(tag) + " has no meaning here; remove it");
  }

  bool ReadScalar(Node& node) {
    const auto& scalar = source_.event().data.scalar;
    const std::string_view tag = AsText(scalar.tag);
    const bool plain = scalar.style == YAML_PLAIN_SCALAR_STYLE && tag.empty();
    const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
    if (!tag.empty() && tag != "!" && tag != YAML_STR_TAG) return FailTag(tag);
    switch (plain ? ReadPlain(text, node) : Plain::kText) {
      case Plain::kRead:
        return true;
      case Plain::kTooLarge:
        return Fail("the number does not fit into 64 bits; write it as text, in quotes");
      case Plain::kNotFinite:
        return Fail("a number must be finite; put it in quotes if it is text");
      case Plain::kText:
        break;
    }
    node.kind = Node::Kind::kText;
    node.content = Kept();
    return true;
  }

  EventSource source_;
  std::unordered_map<std::string, Anchored> anchors_;
  Size read_;     // of everything read so far, including the values of aliases
  Size aliased_;  // of the values of aliases
  std::size_t kept_nodes_ = 0;
  Document document_;
  Error error_{ErrorCode::kInvalidPlan, "", {}};
};

}  // namespace

Result<Document> ParseYamlDocument(std::string_view text) { return YamlParser(text).Parse(); }

}  // namespace everstep
