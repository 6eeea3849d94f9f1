#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace everstep {

// Appends binary values to a string it does not own. docs/formats.md describes the formats.
class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  void U8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  // LEB128: seven bits per byte, low bits first.
  void Varint(std::uint64_t value) {
    std::array<char, 10> bytes;
    std::size_t size = 0;
    for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>(value | 0x80);
    bytes[size++] = static_cast<char>(value);
    out_.append(bytes.data(), size);
  }
  // Zigzag, so that small negative numbers stay short.
  void SignedVarint(std::int64_t value) {
    Varint((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  // Big-endian, so that the bytes sort like the numbers.
  void U32(std::uint32_t value) { BigEndian(value); }
  void U64(std::uint64_t value) { BigEndian(value); }
  // Length, then the bytes.
  void String(std::string_view value) {
    Varint(value.size());
    out_.append(value);
  }
  void Raw(std::string_view value) { out_.append(value); }

 private:
  void BigEndian(std::uint32_t value) { Append(__builtin_bswap32(value)); }
  void BigEndian(std::uint64_t value) { Append(__builtin_bswap64(value)); }
  template <typename T>
  void Append(T swapped) {
    static_assert(std::endian::native == std::endian::little);
    out_.append(reinterpret_cast<const char*>(&swapped), sizeof(swapped));
  }

  std::string& out_;
};

// Reads what ByteWriter wrote. After short or malformed input ok() stays false and every later read
// returns zero or an empty string, so a decoder needs to check ok() only once, at its end. Never
// reads past the input.
class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return in_.empty(); }
  std::string_view rest() const { return in_; }

  std::uint8_t U8() {
    if (in_.empty()) return Fail();
    const auto value = static_cast<std::uint8_t>(in_.front());
    in_.remove_prefix(1);
    return value;
  }
  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = U8();
      if (!ok_) return 0;
      if (shift == 63 && byte > 1) return Fail();
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return Fail();
  }
  std::int64_t SignedVarint() {
    const std::uint64_t value = Varint();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  std::uint32_t U32() { return static_cast<std::uint32_t>(BigEndian(4)); }
  std::uint64_t U64() { return BigEndian(8); }
  std::string_view String() { return Raw(Varint()); }
  std::string_view Raw(std::uint64_t size) {
    if (size > in_.size()) {
      Fail();
      return {};
    }
    const std::string_view value = in_.substr(0, size);
    in_.remove_prefix(size);
    return value;
  }

 private:
  std::uint64_t BigEndian(int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value = (value << 8) | U8();
    return ok_ ? value : 0;
  }
  std::uint8_t Fail() {
    ok_ = false;
    in_ = {};
    return 0;
  }

  std::string_view in_;
  bool ok_ = true;
};

}  // namespace everstep
