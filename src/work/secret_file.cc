#include "work/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/bytes.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/unique_fd.h"
#include "base/value.h"
#include "work/secret_cipher.h"

namespace everstep {
namespace {

constexpr std::string_view kTitle = "everstep-secrets";
constexpr std::uint8_t kVersion = 2;
constexpr std::uint8_t kVersionWithoutTenants = 1;
constexpr std::string_view kFirstTenant = "default";
constexpr std::uint8_t kFromPassphrase = 1;
constexpr std::uint8_t kFromKeyFile = 2;
constexpr std::uint8_t kCost = 15;
constexpr std::uint32_t kBlock = 8;
constexpr std::uint32_t kParallel = 1;
constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kFileBytesMax = 16 << 20;

std::optional<std::string> FileBytes(const std::string& path, std::size_t bytes_max) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string bytes(bytes_max + 1, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (file.bad() || static_cast<std::size_t>(file.gcount()) > bytes_max) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

// The fields before the encrypted text.
struct Header {
  std::uint8_t version = kVersion;
  std::uint8_t source = 0;
  std::uint8_t cost = 0;
  std::string salt;
  std::string nonce;

  std::string Written() const {
    const bool scrypt = source == kFromPassphrase;
    std::string bytes;
    ByteWriter writer(bytes);
    writer.Raw(kTitle);
    writer.U8(version);
    writer.U8(source);
    writer.U8(cost);
    writer.U32(scrypt ? kBlock : 0);
    writer.U32(scrypt ? kParallel : 0);
    writer.Raw(salt);
    writer.Raw(nonce);
    return bytes;
  }

  static std::optional<Header> Read(ByteReader& reader) {
    Header header;
    const bool title = reader.Raw(kTitle.size()) == kTitle;
    header.version = reader.U8();
    const bool version = header.version == kVersion || header.version == kVersionWithoutTenants;
    header.source = reader.U8();
    header.cost = reader.U8();
    const bool scrypt = header.source == kFromPassphrase;
    const bool block = reader.U32() == (scrypt ? kBlock : 0);
    const bool parallel = reader.U32() == (scrypt ? kParallel : 0);
    header.salt = reader.Raw(kSaltBytes);
    header.nonce = reader.Raw(kCipherNonceBytes);
    const bool known = scrypt || header.source == kFromKeyFile;
    if (!reader.ok() || !title || !version || !block || !parallel || !known) return std::nullopt;
    return header;
  }
};

std::string NextVersion(const std::string& version) {
  std::uint64_t number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return std::to_string(number + 1);
}

}  // namespace

Result<bool> HasSecretFile(const std::string& path) {
  const auto exists = [](const std::string& file) -> Result<bool> {
    struct stat facts {};
    if (::stat(file.c_str(), &facts) == 0) return true;
    if (errno == ENOENT) return false;
    return Error{ErrorCode::kSecretUnavailable, file + ": " + std::strerror(errno), {}};
  };
  const std::string key_path = path + ".key";
  const auto file = exists(path);
  if (!file) return file;
  const auto key = exists(key_path);
  if (!key) return key;
  if (*file == *key) return *file;
  if (*file) {
    return Error{ErrorCode::kSecretUnavailable,
                 key_path + " is missing, and without it the secrets in " + path +
                     " cannot be read; restore it from a backup, or remove both to begin anew",
                 {}};
  }
  return Error{ErrorCode::kSecretUnavailable,
               path + " is missing, but its key is there; restore it from a backup, or remove " +
                   key_path + " to begin anew",
               {}};
}

Result<SecretFileKey> SecretFileKey::FromFile(const std::string& path) {
  if (::access(path.c_str(), R_OK) != 0) {
    return Error{ErrorCode::kSecretUnavailable, path + ": " + std::strerror(errno), {}};
  }
  auto bytes = FileBytes(path, 2 * kCipherKeyBytes + 2);
  if (bytes && bytes->size() == kCipherKeyBytes) return SecretFileKey{{}, std::move(*bytes)};
  if (bytes) {
    while (bytes->ends_with('\n') || bytes->ends_with('\r')) bytes->pop_back();
    if (const auto digest = DigestFromHex(*bytes)) {
      return SecretFileKey{{}, std::string(digest->begin(), digest->end())};
    }
  }
  return Error{ErrorCode::kSecretUnavailable,
               path + ": not a key; it must have 32 bytes or 64 lower-case hexadecimal digits",
               {}};
}

SecretFile::SecretFile(std::string path, SecretFileKey key, Random& random)
    : path_(std::move(path)), given_(std::move(key)), random_(random) {}

Error SecretFile::Unavailable(const std::string& why) const {
  return {ErrorCode::kSecretUnavailable, path_ + ": " + why, {}};
}

Error SecretFile::Missing(const SecretOwner& owner, std::string_view key) const {
  return Unavailable((owner.is_server() ? "the server" : "the tenant '" + owner.tenant_id() + "'") +
                     std::string(" has no secret '") + std::string(key) + "'");
}

std::vector<SecretFile::Secret>::iterator SecretFile::Find(std::vector<Secret>& secrets,
                                                           const SecretOwner& owner,
                                                           std::string_view key) {
  return std::find_if(secrets.begin(), secrets.end(), [&](const Secret& secret) {
    return secret.owner == owner && secret.key == key;
  });
}

std::string SecretFile::RandomBytes(std::size_t count) {
  std::string bytes;
  ByteWriter writer(bytes);
  while (bytes.size() < count) writer.U64(random_.Next());
  bytes.resize(count);
  return bytes;
}

Result<std::string> SecretFile::KeyFor(const std::string& salt, std::uint8_t cost) {
  if (cost == 0) {
    if (given_.key.size() == kCipherKeyBytes) return given_.key;
    return Unavailable("it requires a key file, but none was given");
  }
  if (given_.passphrase.empty()) {
    return Unavailable("it requires a passphrase, but none was given");
  }
  if (derived_.salt == salt && derived_.cost == cost) return derived_.key;
  auto key = KeyFromPassphrase(given_.passphrase, salt, cost);
  if (!key) return Unavailable("its scrypt cost is not supported");
  derived_ = {salt, cost, *key};
  return *std::move(key);
}

Result<std::vector<SecretFile::Secret>> SecretFile::Read() {
  std::vector<Secret> secrets;
  std::error_code failed;
  if (!std::filesystem::exists(path_, failed) && !failed) return secrets;
  const auto bytes = FileBytes(path_, kFileBytesMax);
  if (!bytes) return Unavailable("cannot be read");
  ByteReader reader(*bytes);
  const auto header = Header::Read(reader);
  if (!header) return Unavailable("is not a secret file of version 1 or 2");
  auto key = KeyFor(header->salt, header->source == kFromPassphrase ? header->cost : 0);
  if (!key) return key.error();
  const auto text = Decrypt(*key, header->nonce, header->Written(), reader.rest());
  if (!text) return Unavailable("the passphrase or key is wrong, or the file is damaged");
  const auto document = ValueFromJson(*text);
  if (!document || document->kind() != Value::Kind::kMap) return Unavailable("is damaged");
  if (header->version == kVersionWithoutTenants) {
    if (!Take(SecretOwner::Tenant(kFirstTenant), *document, secrets)) {
      return Unavailable("is damaged");
    }
    return secrets;
  }
  const Value tenants = document->Get("tenants");
  bool whole = tenants.kind() == Value::Kind::kMap &&
               Take(SecretOwner::Server(), document->Get("server"), secrets);
  for (const auto& [tenant_id, theirs] : whole ? tenants.members() : ValueMap()) {
    whole = whole && Take(SecretOwner::Tenant(tenant_id), theirs, secrets);
  }
  if (!whole) return Unavailable("is damaged");
  return secrets;
}

// Adds the secrets in a JSON object to `secrets`. Returns false if it is invalid.
bool SecretFile::Take(const SecretOwner& owner, const Value& document,
                      std::vector<Secret>& secrets) {
  if (document.kind() != Value::Kind::kMap) return false;
  for (const auto& [name, entry] : document.members()) {
    const Value version = entry.Get("version");
    const Value value = entry.Get("value");
    if (version.kind() != Value::Kind::kText || value.kind() != Value::Kind::kText) return false;
    secrets.push_back({owner, name, version.text(), value.text()});
  }
  return true;
}

std::string SecretFile::TextOf(const std::vector<Secret>& secrets) {
  std::string text;
  JsonWriter writer(text);
  const auto write = [&](const SecretOwner& owner) {
    writer.BeginObject();
    for (const Secret& secret : secrets) {
      if (secret.owner != owner) continue;
      writer.Key(secret.key);
      writer.BeginObject();
      writer.Member("version", secret.version);
      writer.Member("value", secret.value);
      writer.EndObject();
    }
    writer.EndObject();
  };
  std::set<std::string> tenants;
  for (const Secret& secret : secrets) {
    if (!secret.owner.is_server()) tenants.insert(secret.owner.tenant_id());
  }
  writer.BeginObject();
  writer.Key("server");
  write(SecretOwner::Server());
  writer.Key("tenants");
  writer.BeginObject();
  for (const std::string& tenant_id : tenants) {
    writer.Key(tenant_id);
    write(SecretOwner::Tenant(tenant_id));
  }
  writer.EndObject();
  writer.EndObject();
  return text;
}

Status SecretFile::Write(const std::vector<Secret>& secrets) {
  const std::string text = TextOf(secrets);
  Header header;
  const bool scrypt = given_.key.empty();
  header.source = scrypt ? kFromPassphrase : kFromKeyFile;
  header.cost = scrypt ? kCost : 0;
  // Reuse the salt of the cached key.
  const bool derived = scrypt && derived_.cost == kCost;
  header.salt =
      derived ? derived_.salt : (scrypt ? RandomBytes(kSaltBytes) : std::string(kSaltBytes, '\0'));
  header.nonce = RandomBytes(kCipherNonceBytes);
  const auto key = KeyFor(header.salt, header.cost);
  if (!key) return key.error();
  const std::string start = header.Written();
  const std::string bytes = start + Encrypt(*key, header.nonce, start, text);
  if (bytes.size() > kFileBytesMax)
    return Unavailable("the file would become too large; remove secrets");

  const std::string fresh = path_ + ".new";
  const UniqueFd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const bool written =
      file && ::fchmod(file.get(), 0600) == 0 &&
      ::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
      ::fsync(file.get()) == 0 && ::rename(fresh.c_str(), path_.c_str()) == 0;
  if (!written) return Unavailable(std::strerror(errno));
  const std::filesystem::path parent =
      std::filesystem::absolute(path_).lexically_normal().parent_path();
  const UniqueFd directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(directory.get()) != 0) return Unavailable(std::strerror(errno));
  return Ok();
}

Result<std::string> SecretFile::Get(const SecretOwner& owner, const SecretRef& ref) {
  const std::lock_guard lock(mutex_);
  auto secrets = Read();
  if (!secrets) return secrets.error();
  auto found = Find(*secrets, owner, ref.key);
  if (found == secrets->end() && owner.is_server()) {
    found = Find(*secrets, SecretOwner::Tenant(kFirstTenant), ref.key);
  }
  if (found == secrets->end()) return Missing(owner, ref.key);
  if (ref.version.empty() || ref.version == found->version) return std::move(found->value);
  return Unavailable("'" + ref.key + "' has version " + found->version + ", not " + ref.version);
}

Result<std::vector<SecretFile::Entry>> SecretFile::List() {
  const std::lock_guard lock(mutex_);
  const auto secrets = Read();
  if (!secrets) return secrets.error();
  std::vector<Entry> entries;
  for (const Secret& secret : *secrets) {
    entries.push_back({secret.owner, secret.key, secret.version});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.owner, a.key) < std::tie(b.owner, b.key);
  });
  return entries;
}

Result<std::string> SecretFile::Set(const SecretOwner& owner, std::string_view key,
                                    std::string_view value) {
  if (key.empty() || value.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 key.empty() ? "a secret needs a key" : "the value of a secret must not be empty",
                 {}};
  }
  const std::lock_guard lock(mutex_);
  auto secrets = Read();
  if (!secrets) return secrets.error();
  auto place = Find(*secrets, owner, key);
  if (place == secrets->end()) {
    place = secrets->insert(place, Secret{owner, std::string(key), "0", ""});
  }
  place->version = NextVersion(place->version);
  place->value = value;
  std::string version = place->version;
  if (Status written = Write(*secrets); !written) return written.error();
  return version;
}

Status SecretFile::Remove(const SecretOwner& owner, std::string_view key) {
  const std::lock_guard lock(mutex_);
  auto secrets = Read();
  if (!secrets) return secrets.error();
  const auto place = Find(*secrets, owner, key);
  if (place == secrets->end()) return Missing(owner, key);
  secrets->erase(place);
  return Write(*secrets);
}

}  // namespace everstep
