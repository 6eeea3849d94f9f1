#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "flow/value.h"

namespace everstep {

// Members of an event's payload, for folding: what is not there, or not of that type, is empty.

inline Value ValueMemberOf(const std::string& payload, std::string_view key) {
  if (payload.empty()) return {};
  const auto raw = RawMember(payload, key);
  if (!raw) return {};
  auto value = ValueFromJson(*raw);
  return value ? std::move(*value) : Value();
}

inline std::string TextMemberOf(const std::string& payload, std::string_view key) {
  const Value value = ValueMemberOf(payload, key);
  return value.kind() == Value::Kind::kText ? value.text() : std::string();
}

// As it stands in the payload: JSON.
inline std::string RawMemberOf(const std::string& payload, std::string_view key) {
  if (payload.empty()) return {};
  const auto raw = RawMember(payload, key);
  return raw ? std::string(*raw) : std::string();
}

}  // namespace everstep
