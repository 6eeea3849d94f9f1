#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace everstep {

// A variable of the process's environment; nothing: it is not set.
std::optional<std::string> EnvironmentVariable(std::string_view name);

// Memory of the process that is in RAM.
std::uint64_t ResidentBytes();

}  // namespace everstep
