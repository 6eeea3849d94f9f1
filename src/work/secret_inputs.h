#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/value.h"

namespace everstep {

using SecretValues = std::vector<std::pair<std::string, std::string>>;  // by name

// `inputs` with each `prefix` + name + ";" in its texts replaced by the value of that name. The
// prefix is made for one attempt, so nothing that came from elsewhere is taken for a reference;
// values are not looked at again, and names that are not among `values` stay as they are.
Value PutSecrets(const Value& inputs, std::string_view prefix, const SecretValues& values);

}  // namespace everstep
