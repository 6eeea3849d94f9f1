#pragma once

#include <cstdint>
#include <string_view>

namespace everstep {

// CRC-32C (Castagnoli). Uses the processor's CRC instruction if available.
std::uint32_t Crc32c(std::string_view bytes);

// The same checksum, table-driven, on any processor.
std::uint32_t Crc32cPortable(std::string_view bytes);

}  // namespace everstep
