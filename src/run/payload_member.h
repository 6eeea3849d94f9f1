#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/value.h"

namespace everstep {

// Members of an event's payload, for folding. Empty if the member is missing or of another type.

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

// The member as JSON, exactly as in the payload.
inline std::string RawMemberOf(const std::string& payload, std::string_view key) {
  if (payload.empty()) return {};
  const auto raw = RawMember(payload, key);
  return raw ? std::string(*raw) : std::string();
}

}  // namespace everstep
