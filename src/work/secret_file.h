#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "work/secrets.h"

namespace everstep {

// What opens a secret file: a passphrase, or the 32 bytes of a key.
struct SecretFileKey {
  std::string passphrase;
  std::string key;  // 32 bytes; wins over the passphrase

  // From a file that holds 32 bytes, or 64 hexadecimal digits and an optional line end.
  // kSecretUnavailable.
  static Result<SecretFileKey> FromFile(const std::string& path);
};

// Secrets by key in one encrypted file, readable by its owner only. The format, integers
// big-endian:
//
//   "everstep-secrets"  16 bytes
//   version             u8   2; files of version 1 are read
//   key source          u8   1: scrypt of a passphrase, 2: a key file
//   log2 of N           u8   scrypt: 15; zero with a key file
//   r, p                u32  scrypt: 8 and 1; zero with a key file
//   salt                16 bytes of scrypt; zero with a key file
//   nonce               12 bytes, new with every write
//   text                AES-256-GCM of the JSON object
//                         {"server": SECRETS, "tenants": {"<tenant>": SECRETS}}, with SECRETS
//                         {"<key>": {"version": "3", "value": "…"}};
//                       all that stands before is authenticated with it
//   tag                 16 bytes
//
// In version 1 the text is SECRETS alone; they belong to the tenant "default". The next change
// writes version 2.
//
// A change writes a new file beside the old one, syncs it and renames it. Thread-safe; between
// processes the last writer wins.
class SecretFile final : public SecretProvider {
 public:
  struct Entry {
    SecretOwner owner;
    std::string key;
    std::string version;
  };

  SecretFile(std::string path, SecretFileKey key, Random& random);

  // SecretProvider. Reads the file anew, so that a changed secret is seen by the next task. What
  // the server has no secret of its own for is looked up among those of the tenant "default",
  // which are the operator's too.
  Result<std::string> Get(const SecretOwner& owner, const SecretRef& ref) override;

  // Owners, keys and versions, sorted; none where there is no file. kSecretUnavailable: it cannot
  // be opened with this key, or is damaged.
  Result<std::vector<Entry>> List();
  // Answers the new version: "1" at first, then one more each time.
  // kInvalidArgument: the key or the value is empty.
  Result<std::string> Set(const SecretOwner& owner, std::string_view key, std::string_view value);
  // kSecretUnavailable: the owner has none of that key.
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
  Derived derived_;  // the last one: scrypt is slow on purpose
};

}  // namespace everstep
