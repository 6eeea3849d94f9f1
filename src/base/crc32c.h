#pragma once

#include <cstdint>
#include <string_view>

namespace everstep {

// CRC-32C (Castagnoli). Uses the processor's instruction where there is one.
std::uint32_t Crc32c(std::string_view bytes);

// The same by table, on any processor.
std::uint32_t Crc32cPortable(std::string_view bytes);

// Of what `crc` is the checksum of and `bytes` behind it, by the processor's instruction. Only
// where there is one.
bool HasCrc32cInstruction();
std::uint32_t ExtendCrc32c(std::uint32_t crc, std::string_view bytes);

}  // namespace everstep
