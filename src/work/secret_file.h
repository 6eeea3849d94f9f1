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
//   version             u8   1
//   key source          u8   1: scrypt of a passphrase, 2: a key file
//   log2 of N           u8   scrypt: 15; zero with a key file
//   r, p                u32  scrypt: 8 and 1; zero with a key file
//   salt                16 bytes of scrypt; zero with a key file
//   nonce               12 bytes, new with every write
//   text                AES-256-GCM of a JSON object {"<key>": {"version": "3", "value": "…"}};
//                       all that stands before is authenticated with it
//   tag                 16 bytes
//
// A change writes a new file beside the old one, syncs it and renames it. Thread-safe; between
// processes the last writer wins.
class SecretFile final : public SecretProvider {
 public:
  struct Entry {
    std::string key;
    std::string version;
  };

  SecretFile(std::string path, SecretFileKey key, Random& random);

  // SecretProvider. Reads the file anew, so that a changed secret is seen by the next task.
  Result<std::string> Get(const SecretRef& ref) override;

  // Keys and versions, sorted; none where there is no file. kSecretUnavailable: it cannot be opened
  // with this key, or is damaged.
  Result<std::vector<Entry>> List();
  // Answers the new version: "1" at first, then one more each time.
  Result<std::string> Set(std::string_view key, std::string_view value);
  // kSecretUnavailable: there is none of that key.
  Status Remove(std::string_view key);

 private:
  struct Secret {
    std::string key;
    std::string version;
    std::string value;
  };
  struct Derived {
    std::string salt;
    std::uint8_t cost = 0;
    std::string key;
  };

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
