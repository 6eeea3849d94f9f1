#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "everstep/result.h"
#include "wire/fields.h"

namespace everstep {

// Writes a described type as JSON. Omits members that are empty, zero or unset, unless required.
template <typename T>
std::string ToWire(const T& value) {
  std::string text;
  text.reserve(256);  // enough for most responses
  FieldWriter::Write(text, value);
  return text;
}

// Parses a described type. kInvalidJson; kSchemaValidationFailed with the faults.
template <typename T>
Result<T> FromWire(std::string_view json, UnknownMembers unknown) {
  const auto document = ValueFromJson(json);
  if (!document) return document.error();
  T value{};
  Error error{ErrorCode::kSchemaValidationFailed, "the document does not match its schema", {}};
  FieldReader::Read(*document, "", unknown, error.faults, value);
  if (!error.faults.empty()) return error;
  return value;
}

}  // namespace everstep
