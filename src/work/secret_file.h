#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "work/secrets.h"

namespace everstep {

// The key of a secret file: a passphrase or 32 bytes.
struct SecretFileKey {
  std::string passphrase;
  std::string key;  // 32 bytes; if set, the passphrase is not used

  // Reads a key from a file that contains 32 bytes, or 64 hexadecimal digits and an optional line
  // end. Returns kSecretUnavailable on failure.
  static Result<SecretFileKey> FromFile(const std::string& path);
};

// Whether there is a secret file with the key file `<path>.key`. Returns kSecretUnavailable if one
// of the two is missing or cannot be looked for.
Result<bool> HasSecretFile(const std::string& path);

// Secrets by key in one encrypted file that only its owner can read. The format, with big-endian
// integers:
//
//   "everstep-secrets"  16 bytes
//   version             u8   2; version 1 is also accepted
//   key source          u8   1: scrypt of a passphrase, 2: a key file
//   log2 of N           u8   scrypt: 15; zero with a key file
//   r, p                u32  scrypt: 8 and 1; zero with a key file
//   salt                16 bytes of scrypt; zero with a key file
//   nonce               12 bytes, new with every write
//   text                AES-256-GCM of the JSON object
//                         {"server": SECRETS, "tenants": {"<tenant>": SECRETS}}, with SECRETS
//                         {"<key>": {"version": "3", "value": "…"}};
//                       all preceding fields are authenticated as well
//   tag                 16 bytes
//
// In version 1 the text is just SECRETS, which belong to the tenant "default". The next change
// writes version 2.
//
// A change writes a new file beside the old one, syncs it and renames it. Thread-safe. If several
// processes write, the last writer wins.
class SecretFile final : public SecretProvider {
 public:
  struct Entry {
    SecretOwner owner;
    std::string key;
    std::string version;
  };

  SecretFile(std::string path, SecretFileKey key, Random& random);

  // SecretProvider. Reads the file on each call, so that the next task sees a changed secret. If
  // the server itself has no such secret, falls back to those of the tenant "default", which also
  // belong to the operator.
  Result<std::string> Get(const SecretOwner& owner, const SecretRef& ref) override;

  // Returns owners, keys and versions, sorted; an empty list if there is no file. Returns
  // kSecretUnavailable if the key is wrong or the file is damaged.
  Result<std::vector<Entry>> List();
  // Returns the new version: "1" at first, then incremented by one. Returns kInvalidArgument if the
  // key or the value is empty.
  Result<std::string> Set(const SecretOwner& owner, std::string_view key, std::string_view value);
  // Returns kSecretUnavailable if the owner has no secret with that key.
  Status Remove(const SecretOwner& owner, std::string_view key);

 private:
  struct Secret {
    SecretOwner owner;
    std::string key;
    std::string version;
    std::string value;
  };
  struct Derived {
    std::string salt;
    std::uint8_t cost = 0;
    std::string key;
  };

  static bool Take(const SecretOwner& owner, const class Value& document,
                   std::vector<Secret>& secrets);
  static std::string TextOf(const std::vector<Secret>& secrets);
  static std::vector<Secret>::iterator Find(std::vector<Secret>& secrets, const SecretOwner& owner,
                                            std::string_view key);
  Error Missing(const SecretOwner& owner, std::string_view key) const;
  Result<std::vector<Secret>> Read();
  Status Write(const std::vector<Secret>& secrets);
  Result<std::string> KeyFor(const std::string& salt, std::uint8_t cost);
  std::string RandomBytes(std::size_t count);
  Error Unavailable(const std::string& why) const;

  const std::string path_;
  const SecretFileKey given_;
  Random& random_;
  std::mutex mutex_;
  Derived derived_;  // caches the last derived key, since scrypt is slow by design
};

}  // namespace everstep
