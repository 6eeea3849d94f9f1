#include "base/cbor.h"

#include <simdjson.h>

#include <bit>
#include <cmath>

#include "base/bytes.h"
#include "base/content_count.h"

namespace everstep {
namespace {

constexpr int kDepthMax = 64;
constexpr std::size_t kMembersMax = 1024;
constexpr double kSecondsMax = 253'402'300'799.0;  // the end of the year 9999

using Kind = CborItem::Kind;

double FromHalf(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int mantissa = half & 1023;
  double value = 0;
  if (exponent == 0) {
    value = std::ldexp(mantissa, -24);
  } else if (exponent != 31) {
    value = std::ldexp(mantissa + 1024, exponent - 25);
  } else {
    value = mantissa == 0 ? INFINITY : NAN;
  }
  return (half & 0x8000) != 0 ? -value : value;
}

class Parser {
 public:
  explicit Parser(std::string_view bytes) : in_(bytes) {}

  Result<CborItem> Whole() {
    CborItem item;
    if (!Read(item, 0)) return Error{ErrorCode::kInvalidArgument, "invalid CBOR: " + why_, {}};
    if (!in_.AtEnd()) {
      return Error{ErrorCode::kInvalidArgument, "invalid CBOR: bytes follow the item", {}};
    }
    return item;
  }

 private:
  bool Fail(const char* why) {
    if (why_.empty()) why_ = why;
    return false;
  }

  bool Length(std::uint8_t low, std::uint64_t& value) {
    switch (low) {
      case 24:
        value = in_.U8();
        break;
      case 25:
        value = static_cast<std::uint64_t>(in_.U8()) << 8;
        value |= in_.U8();
        break;
      case 26:
        value = in_.U32();
        break;
      case 27:
        value = in_.U64();
        break;
      default:
        if (low > 23) return Fail("unsupported length encoding");
        value = low;
    }
    return in_.ok() || Fail(kEndsEarly);
  }

  bool Simple(std::uint8_t low, CborItem& item) {
    switch (low) {
      case 20:
      case 21:
        item.kind = Kind::kBool;
        item.boolean = low == 21;
        return true;
      case 22:
      case 23:
        item.kind = Kind::kNull;
        return true;
      case 25:
      case 26:
      case 27:
        break;
      default:
        return Fail("unknown simple value");
    }
    std::uint64_t bits = 0;
    if (!Length(low, bits)) return false;
    item.kind = Kind::kDouble;
    if (low == 25) {
      item.number = FromHalf(static_cast<std::uint16_t>(bits));
    } else if (low == 26) {
      item.number = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    } else {
      item.number = std::bit_cast<double>(bits);
    }
    return true;
  }

  bool Tagged(std::uint64_t tag, CborItem& item, int depth) {
    if (tag != 1) return Fail("unsupported tag; only tag 1 (epoch time) is allowed");
    if (!Read(item, depth + 1)) return false;
    const double seconds = item.AsNumber();
    if (!std::isfinite(seconds) || std::abs(seconds) > kSecondsMax) return Fail("invalid time");
    item.kind = Kind::kTime;
    item.number = seconds;
    return true;
  }

  bool Child(CborItem& item, int depth) {
    const std::size_t index = item.items.size();
    if (!Read(item.items.emplace_back(), depth + 1)) return false;
    if (item.kind != Kind::kMap || index % 2 != 0) return true;
    // Maps are small, so a linear search for duplicates is cheaper than a set.
    if (index >= 2 * kMembersMax) return Fail("a map has more than 1,024 members");
    const CborItem& key = item.items.back();
    if (key.kind != Kind::kText) return Fail("a map key is not a text");
    for (std::size_t i = 0; i < index; i += 2) {
      if (item.items[i].text == key.text) return Fail("duplicate map key");
    }
    return true;
  }

  bool Children(std::uint64_t count, CborItem& item, int depth) {
    // Each item takes at least one byte. Checked first, so that a forged count reserves no memory.
    if (count > in_.rest().size()) return Fail(kEndsEarly);
    if (count > kContentValuesMax - items_) return Fail(kTooMany);
    item.items.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!Child(item, depth)) return false;
    }
    return true;
  }

  // Items of indefinite length, up to the break byte.
  bool IndefiniteChildren(CborItem& item, int depth) {
    while (!in_.rest().starts_with('\xff')) {
      if (!Child(item, depth)) return false;
    }
    (void)in_.U8();
    return item.kind != Kind::kMap || item.items.size() % 2 == 0 || Fail("a map key has no value");
  }

  bool Read(CborItem& item, int depth) {
    if (depth > kDepthMax) return Fail("nested deeper than 64 levels");
    if (++items_ > kContentValuesMax) return Fail(kTooMany);
    const std::uint8_t head = in_.U8();
    if (!in_.ok()) return Fail(kEndsEarly);
    const std::uint8_t low = head & 31;
    const int major = head >> 5;
    if (major == 7) return Simple(low, item);
    if (low == 31 && (major == 4 || major == 5)) {
      item.kind = major == 4 ? Kind::kArray : Kind::kMap;
      return IndefiniteChildren(item, depth);
    }
    std::uint64_t value = 0;
    if (!Length(low, value)) return false;
    switch (major) {
      case 0:
        item.kind = Kind::kUint;
        item.integer = value;
        return true;
      case 1:
        item.kind = Kind::kNegative;
        item.integer = value;
        item.number = -1.0 - static_cast<double>(value);
        return true;
      case 2:
      case 3:
        item.kind = major == 2 ? Kind::kBytes : Kind::kText;
        item.text = in_.Raw(value);
        if (!in_.ok()) return Fail(kEndsEarly);
        if (major == 3 && !simdjson::validate_utf8(item.text.data(), item.text.size())) {
          return Fail("a text is not valid UTF-8");
        }
        return true;
      case 4:
        item.kind = Kind::kArray;
        return Children(value, item, depth);
      case 5:
        item.kind = Kind::kMap;
        if (value > kMembersMax) return Fail("a map has more than 1,024 members");
        return Children(2 * value, item, depth);
      default:
        return Tagged(value, item, depth);
    }
  }

  static constexpr const char* kEndsEarly = "unexpected end of input";
  static constexpr const char* kTooMany = "more than 1,000,000 items";

  ByteReader in_;
  std::size_t items_ = 0;
  std::string why_;
};

}  // namespace

const CborItem* CborItem::Find(std::string_view key) const {
  if (kind != Kind::kMap) return nullptr;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].text == key) return &items[i + 1];
  }
  return nullptr;
}

std::string_view CborItem::Text(std::string_view key) const {
  const CborItem* item = Find(key);
  return item != nullptr && item->kind == Kind::kText ? item->text : std::string_view();
}

std::string_view CborItem::Bytes(std::string_view key) const {
  const CborItem* item = Find(key);
  const bool is = item != nullptr && (item->kind == Kind::kBytes || item->kind == Kind::kText);
  return is ? item->text : std::string_view();
}

std::uint64_t CborItem::Uint(std::string_view key, std::uint64_t otherwise) const {
  const CborItem* item = Find(key);
  return item != nullptr && item->kind == Kind::kUint ? item->integer : otherwise;
}

bool CborItem::Flag(std::string_view key) const {
  const CborItem* item = Find(key);
  return item != nullptr && item->kind == Kind::kBool && item->boolean;
}

Timestamp CborItem::Time(std::string_view key) const {
  const CborItem* item = Find(key);
  return item != nullptr && item->kind == Kind::kTime ? item->AsTime() : Timestamp{};
}

double CborItem::AsNumber() const {
  switch (kind) {
    case Kind::kUint:
      return static_cast<double>(integer);
    case Kind::kNegative:
    case Kind::kDouble:
    case Kind::kTime:
      return number;
    default:
      return NAN;
  }
}

Timestamp CborItem::AsTime() const { return FromMicros(std::llround(number * 1e6)); }

Result<CborItem> ParseCbor(std::string_view bytes) { return Parser(bytes).Whole(); }

void CborWriter::Head(std::uint8_t major, std::uint64_t value) {
  ByteWriter out(out_);
  const auto top = static_cast<std::uint8_t>(major << 5);
  if (value < 24) {
    out.U8(static_cast<std::uint8_t>(top | value));
  } else if (value <= UINT8_MAX) {
    out.U8(top | 24);
    out.U8(static_cast<std::uint8_t>(value));
  } else if (value <= UINT16_MAX) {
    out.U8(top | 25);
    out.U8(static_cast<std::uint8_t>(value >> 8));
    out.U8(static_cast<std::uint8_t>(value));
  } else if (value <= UINT32_MAX) {
    out.U8(top | 26);
    out.U32(static_cast<std::uint32_t>(value));
  } else {
    out.U8(top | 27);
    out.U64(value);
  }
}

void CborWriter::Int(std::int64_t value) {
  if (value >= 0) return Head(0, static_cast<std::uint64_t>(value));
  Head(1, static_cast<std::uint64_t>(-(value + 1)));
}

void CborWriter::Double(double value) {
  ByteWriter out(out_);
  out.U8(0xfb);
  out.U64(std::bit_cast<std::uint64_t>(value));
}

void CborWriter::Text(std::string_view value) {
  Head(3, value.size());
  out_.append(value);
}

void CborWriter::Bytes(std::string_view value) {
  Head(2, value.size());
  out_.append(value);
}

void CborWriter::Time(Timestamp value) {
  out_.push_back('\xc1');
  Double(static_cast<double>(Micros(value)) / 1e6);
}

}  // namespace everstep
