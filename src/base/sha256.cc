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

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

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
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const int high = HexValue(hex[2 * i]);
    const int low = HexValue(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return digest;
}

}  // namespace everstep
