#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace everstep {

// The value of an environment variable, if it is set.
std::optional<std::string> EnvironmentVariable(std::string_view name);

// The names of all environment variables that start with `prefix`, sorted.
std::vector<std::string> EnvironmentNames(std::string_view prefix);

// Resident memory of this process.
std::uint64_t ResidentBytes();

}  // namespace everstep
