#include "base/sha256.h"

// The recommended EVP interface allocates a context per digest, and its function lookup takes
// longer than hashing a short key.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <bit>
#include <cstring>

namespace everstep {
namespace {

// Decodes eight digits to four bytes. Returns false if one is not a lower-case hexadecimal digit.
bool FromHex(const char* digits, std::uint8_t* bytes) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t text = 0;
  std::memcpy(&text, digits, sizeof(text));
  const std::uint64_t letters = text >> 6 & kOnes;
  const std::uint64_t values = (text & 0x0f * kOnes) + 9 * letters;
  const std::uint64_t from_ten = (values + 6 * kOnes) >> 4 & kOnes;
  const std::uint64_t written = values + '0' * kOnes + letters * ('a' - '0' - 10);
  if (written != text || from_ten != letters || (values & 0xf0 * kOnes) != 0) return false;
  const std::uint64_t pairs = values << 4 | values >> 8;  // in every second byte
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<std::uint8_t>(pairs >> 16 * i);
  return true;
}

}  // namespace

Sha256Digest Sha256(std::string_view bytes) {
  Sha256Digest digest;
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  SHA256_Final(digest.data(), &context);
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
  for (std::size_t i = 0; i < digest.size(); i += 4) {
    if (!FromHex(hex.data() + 2 * i, digest.data() + i)) return std::nullopt;
  }
  return digest;
}

}  // namespace everstep
