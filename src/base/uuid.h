#pragma once

#include <string>
#include <string_view>

#include "base/random.h"

namespace everstep {

// A random (version 4) UUID in lower case.
std::string NewUuid(Random& random);

// Version 4, RFC 4122 variant, either case.
bool IsUuidV4(std::string_view text);

}  // namespace everstep
