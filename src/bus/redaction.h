#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "everstep/result.h"

namespace everstep {

// The parts of a JSON pointer (RFC 6901) after the first.
std::vector<std::string> PointerParts(std::string_view pointer);

// Returns the JSON with every value that a pointer addresses replaced by "[redacted]". A part "*"
// addresses every member or item. Pointers that address nothing are ignored. kInvalidJson.
Result<std::string> Redact(std::string_view json,
                           std::span<const std::vector<std::string>> pointers);

}  // namespace everstep
