#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/timestamp.h"
#include "base/value.h"
#include "everstep/result.h"
#include "flow/nearest.h"

namespace everstep {

// A type is described once, by a function `Describe(fields, value)` that lists its members in
// order. The same description serves writing and reading:
//
//   template <typename F> void Describe(F& f, StartedRun& run) {
//     f("runId", run.run_id);
//     f.Json("inputs", run.inputs);        // a member that holds JSON text
//     f.Required("status", run.status);    // a fault on reading if it is missing
//   }

// Writes the members that are not empty, zero, false or unset, and all required ones.
class FieldWriter {
 public:
  explicit FieldWriter(std::string& out) : json_(out) {}

  template <typename T>
  static void Write(std::string& out, const T& value) {
    FieldWriter fields(out);
    fields.Object(value);
  }

  template <typename T>
  void operator()(std::string_view name, T& value) {
    if (IsEmpty(value)) return;
    json_.Key(name);
    Put(value);
  }
  template <typename T>
  void Required(std::string_view name, T& value) {
    json_.Key(name);
    Put(value);
  }
  void Json(std::string_view name, std::string& text) {
    if (!text.empty()) json_.RawMember(name, text);
  }

 private:
  template <typename T>
  static bool IsEmpty(const T& value) {
    if constexpr (requires { value.has_value(); }) {
      return !value.has_value();
    } else if constexpr (requires { value.empty(); }) {
      return value.empty();
    } else if constexpr (std::is_arithmetic_v<T>) {
      return value == T{};
    } else if constexpr (std::same_as<T, std::chrono::milliseconds>) {
      return value.count() == 0;
    } else if constexpr (std::same_as<T, Timestamp>) {
      return value == Timestamp{};
    } else {
      return false;
    }
  }

  void Put(const std::string& text) { json_.String(text); }
  void Put(bool value) { json_.Bool(value); }
  void Put(Timestamp time) { json_.Time(time); }
  void Put(std::chrono::milliseconds time) { json_.Int(time.count()); }
  void Put(double value) { json_.Double(value); }
  template <std::signed_integral T>
  void Put(T value) {
    json_.Int(value);
  }
  template <std::unsigned_integral T>
  void Put(T value) {
    json_.Uint(value);
  }
  template <typename T>
  void Put(const std::optional<T>& value) {
    if (value) {
      Put(*value);
    } else {
      json_.Null();
    }
  }
  template <typename T>
  void Put(const std::vector<T>& list) {
    json_.BeginArray();
    for (const T& item : list) Put(item);
    json_.EndArray();
  }
  template <typename T>
  requires std::is_class_v<T>
  void Put(const T& value) { Object(value); }
  template <typename T>
  void Object(const T& value) {
    json_.BeginObject();
    // Describe takes a non-const reference because it also serves reading. Writing changes nothing.
    Describe(*this, const_cast<T&>(value));
    json_.EndObject();
  }

  JsonWriter json_;
};

enum class UnknownMembers : bool { kRefuse, kIgnore };

// Reads members and collects faults with their JSON pointers. Stops collecting at about kFaultsMax,
// so that a large invalid document does not produce a large error.
class FieldReader {
 public:
  FieldReader(const Value& object, std::string pointer, UnknownMembers unknown,
              std::vector<Fault>& faults)
      : object_(object), pointer_(std::move(pointer)), unknown_(unknown), faults_(faults) {}

  static constexpr std::size_t kFaultsMax = 100;

  template <typename T>
  static void Read(const Value& value, const std::string& pointer, UnknownMembers unknown,
                   std::vector<Fault>& faults, T& out) {
    if (faults.size() >= kFaultsMax) return;
    if (value.kind() != Value::Kind::kMap) {
      faults.push_back({pointer, "must be an object"});
      return;
    }
    FieldReader fields(value, pointer, unknown, faults);
    Describe(fields, out);
    if (unknown == UnknownMembers::kRefuse) fields.RefuseOthers();
  }

  template <typename T>
  void operator()(std::string_view name, T& out) {
    known_.push_back(name);
    const Value value = object_.Get(name);
    if (value.undefined() || value.kind() == Value::Kind::kNull) return;
    Take(value, PointerOf(name), out);
  }
  template <typename T>
  void Required(std::string_view name, T& out) {
    (*this)(name, out);
    const Value value = object_.Get(name);
    if (value.undefined() || value.kind() == Value::Kind::kNull) {
      faults_.push_back({PointerOf(name), "is required"});
    }
  }
  void Json(std::string_view name, std::string& out) {
    known_.push_back(name);
    const Value value = object_.Get(name);
    if (!value.undefined()) out = ToJson(value);
  }

 private:
  std::string PointerOf(std::string_view name) const;
  void RefuseOthers();

  void Take(const Value& value, std::string pointer, std::string& out);
  void Take(const Value& value, std::string pointer, bool& out);
  void Take(const Value& value, std::string pointer, double& out);
  void Take(const Value& value, std::string pointer, Timestamp& out);
  void Take(const Value& value, std::string pointer, std::chrono::milliseconds& out);
  std::optional<std::int64_t> TakeInt(const Value& value, std::string pointer, std::int64_t min,
                                      std::int64_t max);
  template <std::integral T>
  void Take(const Value& value, std::string pointer, T& out) {
    constexpr auto kMax = sizeof(T) < 8 ? static_cast<std::int64_t>(std::numeric_limits<T>::max())
                                        : std::numeric_limits<std::int64_t>::max();
    const auto min = std::is_signed_v<T> ? static_cast<std::int64_t>(std::numeric_limits<T>::min())
                                         : std::int64_t{0};
    if (const auto number = TakeInt(value, std::move(pointer), min, kMax)) {
      out = static_cast<T>(*number);
    }
  }
  template <typename T>
  void Take(const Value& value, std::string pointer, std::optional<T>& out) {
    T taken{};
    Take(value, std::move(pointer), taken);
    out = std::move(taken);
  }
  template <typename T>
  void Take(const Value& value, std::string pointer, std::vector<T>& out) {
    if (value.kind() != Value::Kind::kList) {
      faults_.push_back({std::move(pointer), "must be a list"});
      return;
    }
    out.clear();
    out.reserve(value.list().size());
    for (const Value& item : value.list()) {
      if (faults_.size() >= kFaultsMax) return;
      Take(item, pointer + "/" + std::to_string(out.size()), out.emplace_back());
    }
  }
  template <typename T>
  requires std::is_class_v<T>
  void Take(const Value& value, std::string pointer, T& out) {
    Read(value, pointer, unknown_, faults_, out);
  }

  const Value& object_;
  const std::string pointer_;
  const UnknownMembers unknown_;
  std::vector<Fault>& faults_;
  std::vector<std::string_view> known_;
};

}  // namespace everstep
