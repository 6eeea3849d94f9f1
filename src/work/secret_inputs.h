#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/value.h"

namespace everstep {

using SecretValues = std::vector<std::pair<std::string, std::string>>;  // by name

// Returns `inputs` with each `prefix` + name + ";" in its texts replaced by the value of that name.
// The prefix is generated for one attempt, so that no other data can look like a reference.
// Inserted values are not scanned again, and names that are not in `values` are left unchanged.
Value PutSecrets(const Value& inputs, std::string_view prefix, const SecretValues& values);

}  // namespace everstep
