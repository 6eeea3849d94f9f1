#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/timestamp.h"
#include "everstep/result.h"

namespace everstep {

// Appends JSON text to a string it does not own. Writes commas and quotes itself; the caller is
// responsible for matching Begin and End, for a Key before each member and for UTF-8 text.
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
  // Appends a value that is already JSON text.
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

// Returns `value` as a JSON string, with quotes.
std::string JsonQuote(std::string_view value);

// Returns the unmodified text of member `key` of the JSON object `object`, or nothing if there is
// none. Requires: `object` is well-formed JSON, and `key` contains no character that JSON escapes.
std::optional<std::string_view> RawMember(std::string_view object, std::string_view key);

// Returns the canonical form of RFC 8785 (JCS): members sorted by UTF-16 code units, numbers as
// ECMAScript prints them, no whitespace. kInvalidJson if the text is not JSON, has duplicate keys,
// or is nested deeper than 256 levels.
Result<std::string> CanonicalJson(std::string_view json);

}  // namespace everstep
