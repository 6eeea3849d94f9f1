#include "wire/fields.h"

#include <algorithm>

namespace everstep {

std::string FieldReader::PointerOf(std::string_view name) const {
  std::string pointer = pointer_ + "/";
  for (const char c : name) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

void FieldReader::RefuseOthers() {
  for (const auto& [name, value] : *object_.shared_members()) {
    if (std::ranges::find(known_, name) != known_.end()) continue;
    if (faults_.size() >= kFaultsMax) return;
    faults_.push_back({PointerOf(name), "is not known" + DidYouMean(name, known_)});
  }
}

void FieldReader::Take(const Value& value, std::string pointer, std::string& out) {
  if (value.kind() == Value::Kind::kText) {
    out = value.text();
  } else {
    faults_.push_back({std::move(pointer), "must be text"});
  }
}

void FieldReader::Take(const Value& value, std::string pointer, bool& out) {
  if (value.kind() == Value::Kind::kBool) {
    out = value.bool_value();
  } else {
    faults_.push_back({std::move(pointer), "must be true or false"});
  }
}

void FieldReader::Take(const Value& value, std::string pointer, double& out) {
  if (value.is_number()) {
    out = value.number();
  } else {
    faults_.push_back({std::move(pointer), "must be a number"});
  }
}

void FieldReader::Take(const Value& value, std::string pointer, Timestamp& out) {
  const auto time =
      value.kind() == Value::Kind::kText ? ParseTimestamp(value.text()) : std::nullopt;
  if (time) {
    out = *time;
  } else {
    faults_.push_back({std::move(pointer), "must be a time such as 2026-02-11T10:30:00Z"});
  }
}

void FieldReader::Take(const Value& value, std::string pointer, std::chrono::milliseconds& out) {
  if (const auto number = TakeInt(value, std::move(pointer), 0, INT32_MAX)) {
    out = std::chrono::milliseconds(*number);
  }
}

std::optional<std::int64_t> FieldReader::TakeInt(const Value& value, std::string pointer,
                                                 std::int64_t min, std::int64_t max) {
  const bool whole = value.kind() == Value::Kind::kInt;
  if (whole && value.int_value() >= min && value.int_value() <= max) return value.int_value();
  std::string message = "must be a whole number";
  if (whole) message += " from " + std::to_string(min) + " to " + std::to_string(max);
  faults_.push_back({std::move(pointer), std::move(message)});
  return std::nullopt;
}

}  // namespace everstep
