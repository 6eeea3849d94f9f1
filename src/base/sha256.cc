#include "base/sha256.h"

#include <openssl/evp.h>

#include <memory>

#include "base/assert.h"

namespace everstep {
namespace {

struct Hasher {
  // Fetching the algorithm costs more than hashing a key, so each thread fetches once.
  std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)> algorithm{
      EVP_MD_fetch(nullptr, "SHA256", nullptr), EVP_MD_free};
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                  EVP_MD_CTX_free};
};

// Of each character; 0x80 where it is not a lower-case hexadecimal digit.
constexpr std::array<std::uint8_t, 256> kHexValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(0x80);
  for (int i = 0; i < 10; ++i)
    values[static_cast<std::size_t>('0' + i)] = static_cast<std::uint8_t>(i);
  for (int i = 0; i < 6; ++i) {
    values[static_cast<std::size_t>('a' + i)] = static_cast<std::uint8_t>(10 + i);
  }
  return values;
}();

std::uint8_t HexValue(char c) { return kHexValues[static_cast<std::uint8_t>(c)]; }

}  // namespace

Sha256Digest Sha256(std::string_view bytes) {
  thread_local Hasher hasher;
  Sha256Digest digest;
  EVERSTEP_ASSERT(EVP_DigestInit_ex2(hasher.context.get(), hasher.algorithm.get(), nullptr) == 1);
  EVERSTEP_ASSERT(EVP_DigestUpdate(hasher.context.get(), bytes.data(), bytes.size()) == 1);
  EVERSTEP_ASSERT(EVP_DigestFinal_ex(hasher.context.get(), digest.data(), nullptr) == 1);
  return digest;
}

std::string ToHex(const Sha256Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * digest.size());
  for (const std::uint8_t byte : digest) {
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

std::optional<Sha256Digest> DigestFromHex(std::string_view hex) {
  Sha256Digest digest;
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  std::uint8_t invalid = 0;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const std::uint8_t high = HexValue(hex[2 * i]);
    const std::uint8_t low = HexValue(hex[2 * i + 1]);
    invalid |= high | low;
    digest[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  if ((invalid & 0x80) != 0) return std::nullopt;
  return digest;
}

}  // namespace everstep
