#include "base/hmac.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <memory>

#include "base/assert.h"

namespace everstep {
namespace {

// Fetching the algorithm costs more than hashing a short text, so each thread fetches it once.
struct Maker {
  Maker() {
    char digest[] = "SHA256";
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end()};
    EVERSTEP_ASSERT(EVP_MAC_CTX_set_params(context.get(), parameters) == 1);
  }
  std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> algorithm{
      EVP_MAC_fetch(nullptr, "HMAC", nullptr), EVP_MAC_free};
  std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context{
      EVP_MAC_CTX_new(algorithm.get()), EVP_MAC_CTX_free};
};

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

Sha256Digest HmacSha256(std::string_view key, std::string_view bytes) {
  thread_local Maker maker;
  EVP_MAC_CTX* context = maker.context.get();
  Sha256Digest digest;
  std::size_t size = 0;
  EVERSTEP_ASSERT(!key.empty());  // EVP_MAC_init would reuse the key of the previous call
  EVERSTEP_ASSERT(EVP_MAC_init(context, Bytes(key), key.size(), nullptr) == 1);
  EVERSTEP_ASSERT(EVP_MAC_update(context, Bytes(bytes), bytes.size()) == 1);
  EVERSTEP_ASSERT(EVP_MAC_final(context, digest.data(), &size, digest.size()) == 1);
  EVERSTEP_ASSERT(size == digest.size());
  return digest;
}

bool EqualInConstantTime(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

bool EqualInConstantTime(const Sha256Digest& a, const Sha256Digest& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace everstep
