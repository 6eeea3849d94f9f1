#include "serve/hmac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/assert.h"

namespace everstep {

Sha256Digest HmacSha256(std::string_view key, std::string_view bytes) {
  Sha256Digest digest;
  unsigned size = 0;
  const auto* text = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto* made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), text,
                          bytes.size(), digest.data(), &size);
  EVERSTEP_ASSERT(made != nullptr && size == digest.size());
  return digest;
}

bool EqualInConstantTime(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool EqualInConstantTime(const Sha256Digest& a, const Sha256Digest& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace everstep
