#include "base/json.h"

#include <simdjson.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "base/json_number.h"

namespace everstep {
namespace {

constexpr std::array<bool, 256> kEscaped = [] {
  std::array<bool, 256> escaped{};
  for (std::size_t c = 0; c < 0x20; ++c) escaped[c] = true;
  escaped['"'] = escaped['\\'] = true;
  return escaped;
}();

bool MustEscape(char c) { return kEscaped[static_cast<unsigned char>(c)]; }

void AppendEscape(char c, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  switch (c) {
    case '"':
      out.append("\\\"");
      return;
    case '\\':
      out.append("\\\\");
      return;
    case '\b':
      out.append("\\b");
      return;
    case '\f':
      out.append("\\f");
      return;
    case '\n':
      out.append("\\n");
      return;
    case '\r':
      out.append("\\r");
      return;
    case '\t':
      out.append("\\t");
      return;
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  out.append("\\u00");
  out.push_back(kDigits[byte >> 4]);
  out.push_back(kDigits[byte & 15]);
}

// Returns the position of the next character that must be escaped, or the end. Scans eight bytes at
// a time.
std::size_t FindEscaped(std::string_view value, std::size_t from) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const auto has_less = [](std::uint64_t word, std::uint64_t than) {
    return ((word - than * kOnes) & ~word & 0x80 * kOnes) != 0;
  };
  for (; from + sizeof(std::uint64_t) <= value.size(); from += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, value.data() + from, sizeof(word));
    if (has_less(word, 0x20) || has_less(word ^ '"' * kOnes, 1) ||
        has_less(word ^ '\\' * kOnes, 1)) {
      break;
    }
  }
  while (from < value.size() && !MustEscape(value[from])) ++from;
  return from;
}

void AppendQuoted(std::string_view value, std::string& out) {
  out.push_back('"');
  for (std::size_t at = 0;;) {
    const std::size_t end = FindEscaped(value, at);
    out.append(value.substr(at, end - at));
    if (end == value.size()) break;
    AppendEscape(value[end], out);
    at = end + 1;
  }
  out.push_back('"');
}

template <typename T>
void AppendInteger(T value, std::string& out) {
  std::array<char, 20> digits;
  const auto result = std::to_chars(digits.begin(), digits.end(), value);
  out.append(digits.begin(), result.ptr);
}

// Scans well-formed JSON without parsing it. On malformed text it stops early, never past the end.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool Take(char c) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  // The text of the next value, unmodified; empty if there is none.
  std::string_view Value() {
    SkipSpace();
    const std::size_t start = at_;
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        SkipString();
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (c == '}' || c == ']') {
        if (depth == 0) break;
        --depth;
        ++at_;
      } else if (depth == 0) {
        SkipScalar();
      } else {
        ++at_;
        continue;
      }
      if (depth == 0) break;
    }
    return text_.substr(start, at_ - start);
  }

 private:
  void SkipSpace() {
    const std::size_t next = text_.find_first_not_of(" \t\r\n", at_);
    at_ = next == std::string_view::npos ? text_.size() : next;
  }
  void SkipString() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    at_ = at_ < text_.size() ? at_ + 1 : text_.size();
  }
  void SkipScalar() {
    const std::size_t next = text_.find_first_of(",}] \t\r\n", at_);
    at_ = next == std::string_view::npos ? text_.size() : next;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// Returns true if `quoted`, a JSON string with its quotes, represents `key`.
bool Spells(std::string_view quoted, std::string_view key) {
  if (quoted.size() < 2) return false;
  if (quoted.find('\\') == std::string_view::npos)
    return quoted.substr(1, quoted.size() - 2) == key;
  simdjson::dom::parser parser;
  std::string_view plain;
  return !parser.parse(quoted.data(), quoted.size()).get(plain) && plain == key;
}

}  // namespace

void JsonWriter::Separate() {
  if (need_comma_) out_.push_back(',');
  need_comma_ = true;
}

void JsonWriter::BeginObject() {
  Separate();
  out_.push_back('{');
  need_comma_ = false;
}

void JsonWriter::EndObject() {
  out_.push_back('}');
  need_comma_ = true;
}

void JsonWriter::BeginArray() {
  Separate();
  out_.push_back('[');
  need_comma_ = false;
}

void JsonWriter::EndArray() {
  out_.push_back(']');
  need_comma_ = true;
}

void JsonWriter::Key(std::string_view key) {
  Separate();
  AppendQuoted(key, out_);
  out_.push_back(':');
  need_comma_ = false;
}

void JsonWriter::String(std::string_view value) {
  Separate();
  AppendQuoted(value, out_);
}

void JsonWriter::Time(Timestamp value) {
  Separate();
  out_.push_back('"');
  AppendTimestamp(value, out_);
  out_.push_back('"');
}

void JsonWriter::Int(std::int64_t value) {
  Separate();
  AppendInteger(value, out_);
}

void JsonWriter::Uint(std::uint64_t value) {
  Separate();
  AppendInteger(value, out_);
}

void JsonWriter::Double(double value) {
  Separate();
  AppendJsonNumber(value, out_);
}

void JsonWriter::Bool(bool value) { Raw(value ? "true" : "false"); }

void JsonWriter::Null() { Raw("null"); }

void JsonWriter::Raw(std::string_view json) {
  Separate();
  out_.append(json);
}

std::string JsonQuote(std::string_view value) {
  std::string out;
  AppendQuoted(value, out);
  return out;
}

std::optional<std::string_view> RawMember(std::string_view object, std::string_view key) {
  Scanner scanner(object);
  if (!scanner.Take('{')) return std::nullopt;
  do {
    const std::string_view name = scanner.Value();
    if (!scanner.Take(':')) return std::nullopt;
    const std::string_view value = scanner.Value();
    if (value.empty()) return std::nullopt;
    if (Spells(name, key)) return value;
  } while (scanner.Take(','));
  return std::nullopt;
}

}  // namespace everstep
