#include "serve/devkit/cbor_json.h"

#include <charconv>
#include <cmath>

#include "base/encoding.h"

namespace everstep {
namespace {

using Kind = CborItem::Kind;

constexpr std::string_view kBytesBegin = R"({"__type":"Uint8Array","data":")";
constexpr std::string_view kBytesEnd = "\"}";

// Parses JSON that is known to be well-formed and writes it as CBOR on the fly.
class Transcoder {
 public:
  Transcoder(std::string_view json, CborWriter& cbor) : in_(json), cbor_(cbor) {}

  void Value() {
    SkipSpace();
    if (in_.empty()) return cbor_.Null();
    switch (in_.front()) {
      case '{':
        return in_.starts_with(kBytesBegin) ? Bytes() : Object();
      case '[':
        return Array();
      case '"':
        return cbor_.Text(String());
      case 't':
        in_.remove_prefix(4);
        return cbor_.Bool(true);
      case 'f':
        in_.remove_prefix(5);
        return cbor_.Bool(false);
      case 'n':
        in_.remove_prefix(4);
        return cbor_.Null();
      default:
        return Number();
    }
  }

  void ObjectWithout(std::string_view left_out) {
    SkipSpace();
    (void)Take();
    cbor_.BeginMap();
    while (!Closes('}')) {
      SkipSpace();
      const std::string_view key = String();
      const bool skip = key == left_out;
      if (!skip) cbor_.Key(key);
      (void)Take();  // the colon
      skip ? Skip() : Value();
      if (Take() != ',') break;
    }
    cbor_.End();
  }

 private:
  void Skip() {
    std::string dropped;
    CborWriter nowhere(dropped);
    Transcoder value(in_, nowhere);
    value.Value();
    in_ = value.in_;
  }

  void SkipSpace() {
    const std::size_t first = in_.find_first_not_of(" \t\r\n");
    in_.remove_prefix(first == std::string_view::npos ? in_.size() : first);
  }

  // Consumes and returns the next character that is not whitespace; zero at the end.
  char Take() {
    SkipSpace();
    if (in_.empty()) return '\0';
    const char c = in_.front();
    in_.remove_prefix(1);
    return c;
  }

  bool Closes(char close) {
    SkipSpace();
    if (!in_.empty() && in_.front() != close) return false;
    (void)Take();
    return true;
  }

  void Bytes() {
    in_.remove_prefix(kBytesBegin.size());
    const std::size_t end = in_.find('"');
    const auto bytes = FromBase64(in_.substr(0, end));
    in_.remove_prefix(end == std::string_view::npos ? in_.size() : end);
    if (in_.starts_with(kBytesEnd)) in_.remove_prefix(kBytesEnd.size());
    cbor_.Bytes(bytes.value_or(std::string()));
  }

  void Object() {
    (void)Take();
    cbor_.BeginMap();
    while (!Closes('}')) {
      SkipSpace();
      cbor_.Key(String());
      (void)Take();  // the colon
      Value();
      if (Take() != ',') break;
    }
    cbor_.End();
  }

  void Array() {
    (void)Take();
    cbor_.BeginArray();
    while (!Closes(']')) {
      Value();
      if (Take() != ',') break;
    }
    cbor_.End();
  }

  std::uint32_t Unit() {
    std::uint32_t unit = 0;
    (void)std::from_chars(in_.data(), in_.data() + std::min<std::size_t>(4, in_.size()), unit, 16);
    in_.remove_prefix(std::min<std::size_t>(4, in_.size()));
    return unit;
  }

  void AppendUtf8(std::uint32_t code) {
    const auto put = [this](std::uint32_t byte) { text_.push_back(static_cast<char>(byte)); };
    if (code < 0x80) return put(code);
    if (code < 0x800) {
      put(0xc0 | code >> 6);
    } else if (code < 0x10000) {
      put(0xe0 | code >> 12);
      put(0x80 | (code >> 6 & 63));
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 63));
      put(0x80 | (code >> 6 & 63));
    }
    put(0x80 | (code & 63));
  }

  void Escape() {
    const char c = in_.empty() ? '\0' : in_.front();
    in_.remove_prefix(in_.empty() ? 0 : 1);
    constexpr std::string_view kMarks = "bfnrt";
    constexpr std::string_view kMeanings = "\b\f\n\r\t";
    if (const auto mark = kMarks.find(c); mark != std::string_view::npos) {
      return text_.push_back(kMeanings[mark]);
    }
    if (c != 'u') return text_.push_back(c);
    std::uint32_t code = Unit();
    if (code >= 0xd800 && code < 0xdc00 && in_.starts_with("\\u")) {
      in_.remove_prefix(2);
      code = 0x10000 + ((code - 0xd800) << 10) + (Unit() - 0xdc00);
    }
    AppendUtf8(code);
  }

  // The result refers to the input if the text contains no escapes, else to text_.
  std::string_view String() {
    in_.remove_prefix(in_.empty() ? 0 : 1);
    const std::size_t plain = in_.find_first_of("\"\\");
    if (plain != std::string_view::npos && in_[plain] == '"') {
      const std::string_view text = in_.substr(0, plain);
      in_.remove_prefix(plain + 1);
      return text;
    }
    text_.clear();
    while (!in_.empty()) {
      const std::size_t run = std::min(in_.find_first_of("\"\\"), in_.size());
      text_.append(in_.substr(0, run));
      in_.remove_prefix(run);
      if (in_.empty()) break;
      const char c = in_.front();
      in_.remove_prefix(1);
      if (c == '"') break;
      Escape();
    }
    return text_;
  }

  void Number() {
    std::size_t size = in_.find_first_of(",]} \t\r\n");
    if (size == std::string_view::npos) size = in_.size();
    const std::string_view text = in_.substr(0, size);
    in_.remove_prefix(size);
    const char* const end = text.data() + text.size();
    const auto is_read = [end](const std::from_chars_result& read) {
      return read.ec == std::errc() && read.ptr == end;
    };
    std::int64_t whole = 0;
    if (is_read(std::from_chars(text.data(), end, whole))) return cbor_.Int(whole);
    std::uint64_t large = 0;
    if (is_read(std::from_chars(text.data(), end, large))) return cbor_.Uint(large);
    double number = 0;
    (void)std::from_chars(text.data(), end, number);
    cbor_.Double(number);
  }

  std::string_view in_;
  CborWriter& cbor_;
  std::string text_;
};

}  // namespace

bool WriteJson(const CborItem& item, JsonWriter& json) {
  switch (item.kind) {
    case Kind::kUint:
      json.Uint(item.integer);
      return true;
    case Kind::kNegative:
      if (item.integer <= INT64_MAX) {
        json.Int(-1 - static_cast<std::int64_t>(item.integer));
      } else {
        json.Double(item.number);
      }
      return true;
    case Kind::kDouble:
      if (!std::isfinite(item.number)) return false;
      json.Double(item.number);
      return true;
    case Kind::kBool:
      json.Bool(item.boolean);
      return true;
    case Kind::kNull:
      json.Null();
      return true;
    case Kind::kText:
      json.String(item.text);
      return true;
    case Kind::kBytes:
      json.Raw(std::string(kBytesBegin).append(Base64(item.text)).append(kBytesEnd));
      return true;
    case Kind::kTime:
      json.String(FormatTimestamp(item.AsTime()));
      return true;
    case Kind::kArray:
      json.BeginArray();
      for (const CborItem& member : item.items) {
        if (!WriteJson(member, json)) return false;
      }
      json.EndArray();
      return true;
    case Kind::kMap:
      json.BeginObject();
      for (std::size_t i = 0; i + 1 < item.items.size(); i += 2) {
        json.Key(item.items[i].text);
        if (!WriteJson(item.items[i + 1], json)) return false;
      }
      json.EndObject();
      return true;
  }
  return false;
}

void WriteCbor(std::string_view json, CborWriter& cbor) { Transcoder(json, cbor).Value(); }

void WriteCborWithout(std::string_view json, std::string_view member, CborWriter& cbor) {
  Transcoder(json, cbor).ObjectWithout(member);
}

}  // namespace everstep
