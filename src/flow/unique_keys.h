#pragma once

#include "flow/value.h"

namespace everstep {

// What every ValueMap must be.
bool KeysAreUnique(const ValueMap& members);

}  // namespace everstep
