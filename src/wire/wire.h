#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "everstep/result.h"
#include "wire/fields.h"

namespace everstep {

// A described type as JSON. Members that are empty, zero or not set are left out.
template <typename T>
std::string ToWire(const T& value) {
  std::string text;
  text.reserve(256);  // as much as the answer to most calls
  FieldWriter::Write(text, value);
  return text;
}

// kInvalidJson; kSchemaValidationFailed with every fault.
template <typename T>
Result<T> FromWire(std::string_view json, UnknownMembers unknown) {
  const auto document = ValueFromJson(json);
  if (!document) return document.error();
  T value{};
  Error error{ErrorCode::kSchemaValidationFailed, "the document does not fit", {}};
  FieldReader::Read(*document, "", unknown, error.faults, value);
  if (!error.faults.empty()) return error;
  return value;
}

}  // namespace everstep
