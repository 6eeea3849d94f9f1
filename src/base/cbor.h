#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/timestamp.h"
#include "everstep/result.h"

namespace everstep {

// A parsed CBOR data item (RFC 8949). `text` views point into the parsed bytes, which must outlive
// the item.
struct CborItem {
  enum class Kind : std::uint8_t {
    kUint,
    kNegative,  // `number` is the value
    kDouble,
    kBool,
    kNull,  // also "undefined"
    kText,
    kBytes,
    kArray,
    kMap,   // key, value, key, value …; keys are texts
    kTime,  // tag 1 with a number: seconds since 1970
  };

  Kind kind = Kind::kNull;
  bool boolean = false;
  std::uint64_t integer = 0;
  double number = 0;
  std::string_view text;  // kText, kBytes
  std::vector<CborItem> items;

  // Returns the value of a map member; null if it is missing or this item is not a map.
  const CborItem* Find(std::string_view key) const;
  // Return the member's value, or an empty or default one if it is missing or of another kind.
  std::string_view Text(std::string_view key) const;
  std::string_view Bytes(std::string_view key) const;
  std::uint64_t Uint(std::string_view key, std::uint64_t otherwise = 0) const;
  bool Flag(std::string_view key) const;
  Timestamp Time(std::string_view key) const;

  double AsNumber() const;
  Timestamp AsTime() const;
};

// Parses `bytes` as exactly one item. kInvalidArgument for malformed input, indefinite-length
// strings, keys that are not texts or repeat, texts that are not UTF-8, tags other than 1, and for
// more than 64 levels, 1,024 members in a map or kContentValuesMax items in total.
Result<CborItem> ParseCbor(std::string_view bytes);

// Writes CBOR to a string it does not own. BeginMap and BeginArray start containers of indefinite
// length, which End closes. The caller is responsible for well-formedness.
class CborWriter {
 public:
  explicit CborWriter(std::string& out) : out_(out) {}

  std::size_t size() const { return out_.size(); }  // of the whole output string

  void BeginMap() { out_.push_back('\xbf'); }
  void BeginArray() { out_.push_back('\x9f'); }
  void End() { out_.push_back('\xff'); }
  void ArrayOf(std::size_t count) { Head(4, count); }
  void Uint(std::uint64_t value) { Head(0, value); }
  void Int(std::int64_t value);
  void Double(double value);
  void Bool(bool value) { out_.push_back(value ? '\xf5' : '\xf4'); }
  void Null() { out_.push_back('\xf6'); }
  void Text(std::string_view value);
  void Bytes(std::string_view value);
  void Time(Timestamp value);

  // Shorthand for members.
  void Key(std::string_view key) { Text(key); }
  void Member(std::string_view key, std::string_view value) { Key(key), Text(value); }
  void Member(std::string_view key, const char* value) { Key(key), Text(value); }
  void Member(std::string_view key, bool value) { Key(key), Bool(value); }
  void Member(std::string_view key, std::uint64_t value) { Key(key), Uint(value); }
  void Member(std::string_view key, Timestamp value) { Key(key), Time(value); }

 private:
  void Head(std::uint8_t major, std::uint64_t value);

  std::string& out_;
};

}  // namespace everstep
