#include <simdjson.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_number.h"

namespace everstep {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr int kDepthMax = 256;

// Orders UTF-8 text as its UTF-16 form would sort. Bytes sort as code points, and the two orders
// differ in one place only: surrogates (lead bytes F0 and up) come before U+E000..U+FFFF (EE, EF).
bool Utf16Less(std::string_view a, std::string_view b) {
  const auto rank = [](char c) {
    const int byte = static_cast<unsigned char>(c);
    return byte == 0xee || byte == 0xef ? byte + 0x10 : byte;
  };
  return std::ranges::lexicographical_compare(a, b, std::ranges::less{}, rank, rank);
}

// A member already written: its key and where its text is in the output.
struct Member {
  std::string_view key;
  std::size_t begin;
  std::size_t size;
};

// Reads the document once, front to back, and writes the output as it goes. Each function returns
// an error message, or null on success.
class Canonicalizer {
 public:
  explicit Canonicalizer(std::string& out) : out_(out) {}

  // `Node` is a document or a value: simdjson gives both the same accessors.
  template <typename Node>
  const char* Write(Node& node, int depth) {
    ondemand::json_type type;
    if (const auto error = node.type().get(type)) return simdjson::error_message(error);
    switch (type) {
      case ondemand::json_type::object:
        return WriteObject(node, depth + 1);
      case ondemand::json_type::array:
        return WriteArray(node, depth + 1);
      case ondemand::json_type::string:
        return WriteString(node);
      case ondemand::json_type::number:
        return WriteNumber(node);
      case ondemand::json_type::boolean:
        return WriteBool(node);
      case ondemand::json_type::null:
        return WriteNull(node);
    }
    return "unknown JSON type";
  }

 private:
  template <typename Node>
  const char* WriteObject(Node& node, int depth) {
    if (depth > kDepthMax) return kTooDeep;
    ondemand::object object;
    if (const auto error = node.get_object().get(object)) return simdjson::error_message(error);
    out_.push_back('{');
    const std::size_t begin = out_.size();
    std::vector<Member> members;
    for (auto next : object) {
      ondemand::field field;
      if (const auto error = std::move(next).get(field)) return simdjson::error_message(error);
      Member member{};
      if (const auto error = field.unescaped_key().get(member.key)) {
        return simdjson::error_message(error);
      }
      member.begin = out_.size();
      out_.append(JsonQuote(member.key)).push_back(':');
      if (const char* fault = Write(field.value(), depth)) return fault;
      member.size = out_.size() - member.begin;
      members.push_back(member);
    }
    if (const char* fault = Sort(begin, members)) return fault;
    out_.push_back('}');
    return nullptr;
  }

  // Puts the written members in order, with commas between them.
  const char* Sort(std::size_t begin, std::vector<Member>& members) {
    const auto by_key = [](const Member& a, const Member& b) { return Utf16Less(a.key, b.key); };
    std::ranges::sort(members, by_key);
    const auto same_key = [](const Member& a, const Member& b) { return a.key == b.key; };
    if (std::ranges::adjacent_find(members, same_key) != members.end()) return "duplicate key";
    std::string sorted;
    sorted.reserve(out_.size() - begin + members.size());
    for (const Member& member : members) {
      if (!sorted.empty()) sorted.push_back(',');
      sorted.append(out_, member.begin, member.size);
    }
    out_.replace(begin, std::string::npos, sorted);
    return nullptr;
  }

  template <typename Node>
  const char* WriteArray(Node& node, int depth) {
    if (depth > kDepthMax) return kTooDeep;
    ondemand::array array;
    if (const auto error = node.get_array().get(array)) return simdjson::error_message(error);
    out_.push_back('[');
    bool first = true;
    for (auto next : array) {
      ondemand::value item;
      if (const auto error = std::move(next).get(item)) return simdjson::error_message(error);
      if (!first) out_.push_back(',');
      first = false;
      if (const char* fault = Write(item, depth)) return fault;
    }
    out_.push_back(']');
    return nullptr;
  }

  template <typename Node>
  const char* WriteString(Node& node) {
    std::string_view text;
    if (const auto error = node.get_string().get(text)) return simdjson::error_message(error);
    out_.append(JsonQuote(text));
    return nullptr;
  }

  // Always as a double, because RFC 8785 defines JSON numbers as IEEE 754 doubles.
  template <typename Node>
  const char* WriteNumber(Node& node) {
    double number;
    if (const auto error = node.get_double().get(number)) return simdjson::error_message(error);
    AppendJsonNumber(number, out_);
    return nullptr;
  }

  template <typename Node>
  const char* WriteBool(Node& node) {
    bool value;
    if (const auto error = node.get_bool().get(value)) return simdjson::error_message(error);
    out_.append(value ? "true" : "false");
    return nullptr;
  }

  template <typename Node>
  const char* WriteNull(Node& node) {
    bool is_null = false;
    if (node.is_null().get(is_null) || !is_null) {
      return simdjson::error_message(simdjson::N_ATOM_ERROR);
    }
    out_.append("null");
    return nullptr;
  }

  static constexpr const char* kTooDeep = "nested deeper than 256 levels";

  std::string& out_;
};

Error NotCanonical(const char* fault) { return {ErrorCode::kInvalidJson, fault, {}}; }

}  // namespace

Result<std::string> CanonicalJson(std::string_view json) {
  // simdjson 3.0 rejects whitespace after a top-level null.
  json = json.substr(0, json.find_last_not_of(" \t\r\n") + 1);
  const simdjson::padded_string padded(json);
  ondemand::parser parser;
  ondemand::document document;
  if (const auto error = parser.iterate(padded).get(document)) {
    return NotCanonical(simdjson::error_message(error));
  }
  std::string out;
  out.reserve(json.size());
  if (const char* fault = Canonicalizer(out).Write(document, 0)) return NotCanonical(fault);
  // At the end of the document current_location() returns an error.
  if (!document.current_location().error()) {
    return NotCanonical("unexpected content after the value");
  }
  return out;
}

}  // namespace everstep
