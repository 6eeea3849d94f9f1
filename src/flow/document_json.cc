#include <charconv>
#include <cmath>
#include <system_error>

#include "base/utf8.h"
#include "flow/document_parser.h"

namespace everstep {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A strict RFC 8259 parser. Methods that return a bool set the error before they return false.
class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : text_(text) {}

  Result<Document> Parse() {
    SkipSpace();
    if (!ReadValue(document_.root, 0)) return std::move(error_);
    SkipSpace();
    if (at_ < text_.size()) {
      Fail("the JSON document ends here, but there is more text; remove it");
      return std::move(error_);
    }
    return std::move(document_);
  }

 private:
  Position Here() const {
    return {line_, static_cast<std::uint32_t>(at_ - line_start_ - continuations_ + 1)};
  }

  bool Fail(std::string message) {
    error_ = DocumentError(Here(), std::move(message));
    return false;
  }

  bool At(char c) const { return at_ < text_.size() && text_[at_] == c; }

  void SkipSpace() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        line_start_ = at_ + 1;
        continuations_ = 0;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  bool ReadValue(Node& node, std::size_t depth) {
    node.line = Here().line;
    node.column = Here().column;
    if (++nodes_ > kDocumentNodesMax) {
      return Fail("the document has more than " + std::to_string(kDocumentNodesMax) + " values");
    }
    if (at_ >= text_.size()) return Fail("the document ends where a value is expected");
    switch (text_[at_]) {
      case '{':
        return ReadChildren(node, Node::Kind::kMap, depth + 1);
      case '[':
        return ReadChildren(node, Node::Kind::kList, depth + 1);
      case '"': {
        node.kind = Node::Kind::kText;
        std::string_view text;
        if (!ReadString(text)) return false;
        node.content = text;
        return true;
      }
      case 't':
        return ReadWord(node, "true", Node::Kind::kBool, true);
      case 'f':
        return ReadWord(node, "false", Node::Kind::kBool, false);
      case 'n':
        return ReadWord(node, "null", Node::Kind::kNull, std::monostate{});
      default:
        return ReadNumber(node);
    }
  }

  template <typename T>
  bool ReadWord(Node& node, std::string_view word, Node::Kind kind, T value) {
    if (!text_.substr(at_).starts_with(word))
      return Fail("not a JSON value; put text in double quotes");
    at_ += word.size();
    node.kind = kind;
    node.content = value;
    return true;
  }

  bool ReadChildren(Node& node, Node::Kind kind, std::size_t depth) {
    const bool map = kind == Node::Kind::kMap;
    const char end = map ? '}' : ']';
    if (depth > kDocumentDepthMax) {
      return Fail("nested deeper than " + std::to_string(kDocumentDepthMax) + " levels");
    }
    node.kind = kind;
    node.content.emplace<std::vector<Node>>();
    auto& children = std::get<std::vector<Node>>(node.content);
    ++at_;
    SkipSpace();
    if (At(end)) return ++at_, true;
    while (true) {
      Node& child = children.emplace_back();
      if (map && !ReadKey(child)) return false;
      if (!ReadValue(child, depth)) return false;
      SkipSpace();
      if (At(end)) break;
      if (!At(',')) return Fail(map ? "',' or '}' is missing here" : "',' or ']' is missing here");
      ++at_;
      SkipSpace();
      if (At(end)) return Fail("JSON allows no comma after the last value; remove it");
    }
    ++at_;
    if (map) DropRepeatedKeys(node, document_);
    return true;
  }

  bool ReadKey(Node& child) {
    child.key_line = Here().line;
    child.key_column = Here().column;
    if (!At('"')) return Fail("a key in double quotes is missing here");
    if (!ReadString(child.key)) return false;
    SkipSpace();
    if (!At(':')) return Fail("':' is missing after the key");
    ++at_;
    SkipSpace();
    return true;
  }

  bool ReadString(std::string_view& out) {
    const std::size_t begin = ++at_;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        out = text_.substr(begin, at_ - begin);
        ++at_;
        return true;
      }
      if (c == '\\') return ReadEscaped(begin, out);
      if (static_cast<unsigned char>(c) < 0x20) {
        return Fail("a control character inside a string; write it as an escape, such as \\n");
      }
      if (ContinuesCharacter(c)) ++continuations_;
    }
    return Fail("the string is not terminated; '\"' is missing");
  }

  bool ReadEscaped(std::size_t begin, std::string_view& out) {
    std::string& text = document_.texts.emplace_back(text_.substr(begin, at_ - begin));
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        out = text;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) {
        return Fail("a control character inside a string; write it as an escape, such as \\n");
      }
      if (c == '\\') {
        if (!ReadEscape(text)) return false;
        continue;
      }
      if (ContinuesCharacter(c)) ++continuations_;
      text.push_back(c);
      ++at_;
    }
    return Fail("the string is not terminated; '\"' is missing");
  }

  bool ReadEscape(std::string& text) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const char letter = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (letter == 'u') return ReadCodePoint(text);
    const std::size_t known = kLetters.find(letter);
    if (known == std::string_view::npos) return Fail("JSON has no such escape");
    text.push_back(kMeanings[known]);
    at_ += 2;
    return true;
  }

  bool ReadCodePoint(std::string& text) {
    std::uint32_t code = 0;
    if (!ReadHex(code)) return false;
    if (code >= 0xd800 && code < 0xdc00) {
      std::uint32_t low = 0;
      if (!text_.substr(at_).starts_with("\\u")) return Fail("half of a surrogate pair is missing");
      if (!ReadHex(low)) return false;
      if (low < 0xdc00 || low >= 0xe000) return Fail("half of a surrogate pair is missing");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
      return Fail("half of a surrogate pair is missing");
    }
    AppendCharacter(code, text);
    return true;
  }

  // Reads "\uXXXX" and moves past it.
  bool ReadHex(std::uint32_t& code) {
    const std::string_view digits = text_.substr(at_).substr(2, 4);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 4 || read.ptr != digits.data() + 4) {
      return Fail("\\u takes four hexadecimal digits");
    }
    at_ += 6;
    return true;
  }

  bool ReadNumber(Node& node) {
    std::size_t end = at_;
    const auto at = [&](char c) { return end < text_.size() && text_[end] == c; };
    const auto digits = [&] {
      const std::size_t begin = end;
      while (end < text_.size() && IsDigit(text_[end])) ++end;
      return end - begin;
    };
    if (at('-')) ++end;
    const bool zero = at('0');
    const std::size_t whole = digits();
    if (whole == 0) return Fail("not a JSON value; put text in double quotes");
    if (zero && whole > 1)
      return Fail("a number cannot begin with 0; put it in quotes if it is text");
    bool integer = true;
    if (at('.')) {
      integer = false;
      ++end;
      if (digits() == 0) return Fail("digits are missing after the decimal point");
    }
    if (at('e') || at('E')) {
      integer = false;
      ++end;
      if (at('+') || at('-')) ++end;
      if (digits() == 0) return Fail("digits are missing in the exponent");
    }
    const std::string_view number = text_.substr(at_, end - at_);
    if (!(integer ? SetInteger(node, number) : SetDouble(node, number))) {
      return Fail("the number does not fit into 64 bits; write it as text");
    }
    at_ = end;
    return true;
  }

  static bool SetInteger(Node& node, std::string_view number) {
    std::int64_t value = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
    node.kind = Node::Kind::kInt;
    node.content = value;
    return read.ec == std::errc();
  }

  static bool SetDouble(Node& node, std::string_view number) {
    double value = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
    node.kind = Node::Kind::kDouble;
    node.content = value;
    return read.ec == std::errc() && std::isfinite(value);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::size_t line_start_ = 0;
  std::size_t continuations_ = 0;  // UTF-8 continuation bytes on this line
  std::size_t nodes_ = 0;
  Document document_;
  Error error_{ErrorCode::kInvalidPlan, "", {}};
};

}  // namespace

Result<Document> ParseJsonDocument(std::string_view text) { return JsonParser(text).Parse(); }

}  // namespace everstep
