#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "everstep/result.h"

namespace everstep {

// The parts of a JSON pointer (RFC 6901) behind its first.
std::vector<std::string> PointerParts(std::string_view pointer);

// The JSON with every value that one of the pointers leads to replaced by "[redacted]". A part "*"
// leads to every member or item. What no pointer leads to is left alone. kInvalidJson.
Result<std::string> Redact(std::string_view json,
                           std::span<const std::vector<std::string>> pointers);

}  // namespace everstep
