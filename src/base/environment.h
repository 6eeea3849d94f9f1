#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace everstep {

// A variable of the process's environment; nothing: it is not set.
std::optional<std::string> EnvironmentVariable(std::string_view name);

}  // namespace everstep
