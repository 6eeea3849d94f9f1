#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace everstep {

// An event vocabulary in which the log can be written and read. CloudEvents is read-only.
enum class Dialect : std::uint8_t { kNative, kContract, kDevkit, kNoetl, kElephant, kCloudEvents };

std::string_view Name(Dialect dialect);  // "native", "contract", …
std::optional<Dialect> DialectNamed(std::string_view name);
std::span<const Dialect> WritableDialects();

}  // namespace everstep
