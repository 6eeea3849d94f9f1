#include "work/secret_cipher.h"

#include <openssl/evp.h>

#include <memory>

#include "base/assert.h"

namespace everstep {
namespace {

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* Bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

Context NewContext(std::string_view key, std::string_view nonce, bool encrypt) {
  EVERSTEP_ASSERT(key.size() == kCipherKeyBytes && nonce.size() == kCipherNonceBytes);
  Context context(EVP_CIPHER_CTX_new());
  EVERSTEP_ASSERT(context != nullptr);
  EVERSTEP_ASSERT(EVP_CipherInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, Bytes(key),
                                    Bytes(nonce), encrypt ? 1 : 0) == 1);
  return context;
}

void Authenticate(const Context& context, std::string_view bytes) {
  int size = 0;
  EVERSTEP_ASSERT(EVP_CipherUpdate(context.get(), nullptr, &size, Bytes(bytes),
                                   static_cast<int>(bytes.size())) == 1);
}

}  // namespace

std::string Encrypt(std::string_view key, std::string_view nonce, std::string_view authenticated,
                    std::string_view text) {
  const Context context = NewContext(key, nonce, true);
  Authenticate(context, authenticated);
  std::string encrypted(text.size(), '\0');
  int size = 0;
  EVERSTEP_ASSERT(EVP_CipherUpdate(context.get(), Bytes(encrypted), &size, Bytes(text),
                                   static_cast<int>(text.size())) == 1);
  std::string tag(kCipherTagBytes, '\0');
  EVERSTEP_ASSERT(EVP_CipherFinal_ex(context.get(), Bytes(tag), &size) == 1);
  EVERSTEP_ASSERT(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG,
                                      static_cast<int>(tag.size()), tag.data()) == 1);
  return encrypted + tag;
}

std::optional<std::string> Decrypt(std::string_view key, std::string_view nonce,
                                   std::string_view authenticated, std::string_view encrypted) {
  if (encrypted.size() < kCipherTagBytes) return std::nullopt;
  std::string tag(encrypted.substr(encrypted.size() - kCipherTagBytes));
  encrypted.remove_suffix(kCipherTagBytes);
  const Context context = NewContext(key, nonce, false);
  Authenticate(context, authenticated);
  std::string text(encrypted.size(), '\0');
  int size = 0;
  EVERSTEP_ASSERT(EVP_CipherUpdate(context.get(), Bytes(text), &size, Bytes(encrypted),
                                   static_cast<int>(encrypted.size())) == 1);
  EVERSTEP_ASSERT(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG,
                                      static_cast<int>(tag.size()), tag.data()) == 1);
  std::string rest(kCipherTagBytes, '\0');
  if (EVP_CipherFinal_ex(context.get(), Bytes(rest), &size) != 1) return std::nullopt;
  return text;
}

std::optional<std::string> KeyFromPassphrase(std::string_view passphrase, std::string_view salt,
                                             std::uint8_t cost) {
  constexpr std::uint8_t kCostMax = 20;  // 1 GiB of memory; reject files that demand more
  constexpr std::uint64_t kMemoryMax = 2ULL << 30;
  if (cost == 0 || cost > kCostMax) return std::nullopt;
  std::string key(kCipherKeyBytes, '\0');
  const int made = EVP_PBE_scrypt(passphrase.data(), passphrase.size(), Bytes(salt), salt.size(),
                                  1ULL << cost, 8, 1, kMemoryMax, Bytes(key), key.size());
  if (made != 1) return std::nullopt;
  return key;
}

}  // namespace everstep
