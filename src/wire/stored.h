#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "wire/wire.h"

namespace everstep {

// Reads a document of the store. What this server wrote can be read, so a document that cannot is
// damaged: kStoreCorrupt, which names `what` ("plan greet of tenant acme").
template <typename T>
Result<T> FromStored(std::string_view text, const std::string& what) {
  auto value = FromWire<T>(text, UnknownMembers::kIgnore);
  if (value) return value;
  Error error = std::move(value).error();
  error.message = "the stored " + what + " cannot be read: " + error.message;
  error.code = ErrorCode::kStoreCorrupt;
  return error;
}

}  // namespace everstep
