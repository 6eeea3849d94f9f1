#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace everstep {

inline constexpr std::size_t kCipherKeyBytes = 32;
inline constexpr std::size_t kCipherNonceBytes = 12;
inline constexpr std::size_t kCipherTagBytes = 16;

// AES-256-GCM. Returns the ciphertext followed by the tag. A nonce must never be used twice with
// the same key.
std::string Encrypt(std::string_view key, std::string_view nonce, std::string_view authenticated,
                    std::string_view text);
// Returns nullopt if the key is wrong or the data was modified.
std::optional<std::string> Decrypt(std::string_view key, std::string_view nonce,
                                   std::string_view authenticated, std::string_view encrypted);

// scrypt with N = 2^cost, r = 8, p = 1. Returns nullopt if the cost is not supported.
std::optional<std::string> KeyFromPassphrase(std::string_view passphrase, std::string_view salt,
                                             std::uint8_t cost);

}  // namespace everstep
