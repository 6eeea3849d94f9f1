#include "base/crc32c.h"

#include <array>
#include <cstring>

namespace everstep {
namespace {

constexpr std::array<std::uint32_t, 256> MakeTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
    table[i] = crc;
  }
  return table;
}

std::uint32_t Portable(std::uint32_t crc, std::string_view bytes) {
  static constexpr auto kTable = MakeTable();
  for (const char c : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<std::uint8_t>(c)) & 0xff];
  return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) std::uint32_t Hardware(std::uint32_t crc,
                                                         std::string_view bytes) {
  std::uint64_t wide = crc;
  while (bytes.size() >= 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    wide = __builtin_ia32_crc32di(wide, word);
    bytes.remove_prefix(8);
  }
  auto narrow = static_cast<std::uint32_t>(wide);
  for (const char c : bytes) narrow = __builtin_ia32_crc32qi(narrow, static_cast<unsigned char>(c));
  return narrow;
}
#endif

}  // namespace

std::uint32_t Crc32c(std::string_view bytes) {
#ifdef __x86_64__
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ~Hardware(~0U, bytes);
#endif
  return Crc32cPortable(bytes);
}

std::uint32_t Crc32cPortable(std::string_view bytes) { return ~Portable(~0U, bytes); }

}  // namespace everstep
