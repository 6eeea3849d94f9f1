#pragma once

#include "base/value.h"

namespace everstep {

// Whether no two members have the same key, as every ValueMap requires.
bool KeysAreUnique(const ValueMap& members);

}  // namespace everstep
