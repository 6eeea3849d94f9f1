#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/sha256.h"
#include "base/timestamp.h"
#include "base/value.h"
#include "event/event.h"

namespace everstep {

// Writes and reads the state of a run for its checkpoints (docs/formats.md). A type lists its
// members once, for both directions:
//
//   template <typename Codec, typename Self>
//   static void Fields(Codec& codec, Self& self) { codec(self.a, self.b); }

class StateEncoder {
 public:
  // Leaves out texts once `out` has more than `bytes_max`: it is then of no use.
  explicit StateEncoder(std::string& out, std::size_t bytes_max = SIZE_MAX)
      : out_(out), text_(out), bytes_max_(bytes_max) {}

  template <typename... T>
  void operator()(const T&... values) {
    (Write(values), ...);
  }

 private:
  template <typename T>
  void Write(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      out_.Varint(static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_signed_v<T>) {
      out_.SignedVarint(value);
    } else if constexpr (std::is_integral_v<T>) {
      out_.Varint(value);
    } else {
      T::Fields(*this, value);
    }
  }
  void Write(const std::string& text) {
    if (text_.size() <= bytes_max_) out_.String(text);
  }
  void Write(const Timestamp& time) { out_.SignedVarint(Micros(time)); }
  void Write(const EventSeq& seq) { out_.Varint(seq.value()); }
  void Write(const RunId& run_id) { out_.String(run_id.value()); }
  void Write(const Sha256Digest& digest) {
    out_.Raw({reinterpret_cast<const char*>(digest.data()), digest.size()});
  }
  void Write(const Value& value) {
    if (text_.size() <= bytes_max_) out_.String(value.undefined() ? "" : ToJson(value));
  }
  template <typename T>
  void Write(const std::optional<T>& value) {
    out_.U8(value.has_value() ? 1 : 0);
    if (value) Write(*value);
  }
  template <typename A, typename B>
  void Write(const std::pair<A, B>& pair) {
    Write(pair.first);
    Write(pair.second);
  }
  template <typename T>
  void WriteAll(const T& container) {
    out_.Varint(container.size());
    for (const auto& element : container) Write(element);
  }
  void Write(const std::vector<bool>& flags) {
    out_.Varint(flags.size());
    for (const bool flag : flags) out_.U8(flag ? 1 : 0);
  }
  template <typename T>
  void Write(const std::vector<T>& elements) {
    WriteAll(elements);
  }
  template <typename T, typename Less>
  void Write(const std::set<T, Less>& elements) {
    WriteAll(elements);
  }
  template <typename K, typename V, typename Less>
  void Write(const std::map<K, V, Less>& elements) {
    WriteAll(elements);
  }

  ByteWriter out_;
  const std::string& text_;  // what out_ writes to
  const std::size_t bytes_max_;
};

// Reads what StateEncoder wrote. After bytes that it did not write ok() is false; what was read is
// then meaningless, but memory stays bounded by the size of the input.
class StateDecoder {
 public:
  explicit StateDecoder(std::string_view in) : in_(in) {}

  template <typename... T>
  void operator()(T&... values) {
    (Read(values), ...);
  }
  bool ok() const { return ok_ && in_.ok(); }
  bool AtEnd() const { return in_.AtEnd(); }
  std::string_view rest() const { return in_.rest(); }
  void Fail() { ok_ = false; }

 private:
  template <typename T>
  void Read(T& value) {
    if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(Bounded<std::underlying_type_t<T>>(in_.Varint()));
    } else if constexpr (std::is_signed_v<T>) {
      const std::int64_t number = in_.SignedVarint();
      value = static_cast<T>(number);
      if (value != number) Fail();
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(Bounded<T>(in_.Varint()));
    } else {
      T::Fields(*this, value);
    }
  }
  template <typename T>
  std::uint64_t Bounded(std::uint64_t number) {
    if (number > static_cast<std::uint64_t>(std::numeric_limits<T>::max())) Fail();
    return number;
  }
  void Read(std::string& text) { text = in_.String(); }
  void Read(Timestamp& time) { time = FromMicros(in_.SignedVarint()); }
  void Read(EventSeq& seq) { seq = EventSeq(in_.Varint()); }
  void Read(RunId& run_id) { run_id = RunId(std::string(in_.String())); }
  void Read(Sha256Digest& digest) {
    const std::string_view bytes = in_.Raw(digest.size());
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(digest.data()));
  }
  void Read(Value& value) {
    const std::string_view json = in_.String();
    value = {};
    if (json.empty()) return;
    auto parsed = ValueFromJson(json);
    if (!parsed) return Fail();
    value = std::move(*parsed);
  }
  template <typename T>
  void Read(std::optional<T>& value) {
    value.reset();
    if (in_.U8() != 0) Read(value.emplace());
  }
  template <typename A, typename B>
  void Read(std::pair<A, B>& pair) {
    Read(pair.first);
    Read(pair.second);
  }
  // Every element takes a byte at least.
  std::size_t Count() {
    const std::uint64_t count = in_.Varint();
    if (count <= in_.rest().size()) return static_cast<std::size_t>(count);
    Fail();
    return 0;
  }
  void Read(std::vector<bool>& flags) {
    flags.assign(Count(), false);
    for (std::size_t i = 0; i < flags.size() && ok(); ++i) flags[i] = in_.U8() != 0;
  }
  template <typename T>
  void Read(std::vector<T>& elements) {
    const std::size_t count = Count();
    elements.clear();
    for (std::size_t i = 0; i < count && ok(); ++i) Read(elements.emplace_back());
  }
  template <typename T, typename Less>
  void Read(std::set<T, Less>& elements) {
    const std::size_t count = Count();
    elements.clear();
    for (std::size_t i = 0; i < count && ok(); ++i) {
      T element{};
      Read(element);
      elements.insert(elements.end(), std::move(element));
    }
  }
  template <typename K, typename V, typename Less>
  void Read(std::map<K, V, Less>& elements) {
    const std::size_t count = Count();
    elements.clear();
    for (std::size_t i = 0; i < count && ok(); ++i) {
      K key{};
      Read(key);
      Read(elements[std::move(key)]);
    }
  }

  ByteReader in_;
  bool ok_ = true;
};

}  // namespace everstep
