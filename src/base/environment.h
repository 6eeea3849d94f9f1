#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace everstep {

// A variable of the process's environment; nothing: it is not set.
std::optional<std::string> EnvironmentVariable(std::string_view name);

// The names of all that are set and begin so, in order.
std::vector<std::string> EnvironmentNames(std::string_view prefix);

// Memory of the process that is in RAM.
std::uint64_t ResidentBytes();

}  // namespace everstep
