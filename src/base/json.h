#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/timestamp.h"
#include "everstep/result.h"

namespace everstep {

// Writes JSON text: commas and quoting are its business, well-formedness (matching Begin and End,
// a Key before each member, text in UTF-8) is the caller's. Appends to a string it does not own.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  void BeginObject();
  void EndObject();
  void BeginArray();
  void EndArray();
  void Key(std::string_view key);
  void String(std::string_view value);
  void Time(Timestamp value);
  void Int(std::int64_t value);
  void Uint(std::uint64_t value);
  void Double(double value);  // finite only
  void Bool(bool value);
  void Null();
  // A value that is JSON text already.
  void Raw(std::string_view json);

  // Shorthand for members.
  void Member(std::string_view key, std::string_view value) { Key(key), String(value); }
  void Member(std::string_view key, const char* value) { Key(key), String(value); }
  void Member(std::string_view key, bool value) { Key(key), Bool(value); }
  void Member(std::string_view key, std::uint64_t value) { Key(key), Uint(value); }
  void RawMember(std::string_view key, std::string_view json) { Key(key), Raw(json); }

 private:
  void Separate();

  std::string& out_;
  bool need_comma_ = false;
};

// `value` as a JSON string, with quotes.
std::string JsonQuote(std::string_view value);

// The text of member `key` of the JSON object `object`, untouched; nothing when it is not there.
// `object` must be well-formed JSON and `key` free of characters that JSON escapes.
std::optional<std::string_view> RawMember(std::string_view object, std::string_view key);

// RFC 8785 (JCS): members sorted by UTF-16 code units, numbers as ECMAScript prints them, no white
// space. kInvalidJson when the text is not JSON, repeats a key, or is nested deeper than 256.
Result<std::string> CanonicalJson(std::string_view json);

}  // namespace everstep
