#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace everstep {

using Sha256Digest = std::array<std::uint8_t, 32>;

Sha256Digest Sha256(std::string_view bytes);

// 64 lower-case hexadecimal digits.
std::string ToHex(const Sha256Digest& digest);
// Reverses ToHex; rejects upper-case digits.
std::optional<Sha256Digest> DigestFromHex(std::string_view hex);

}  // namespace everstep
