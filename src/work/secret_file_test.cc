#include "work/secret_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "testing/temporary_directory.h"
#include "work/secret_cipher.h"

namespace everstep {
namespace {

const SecretOwner kMine = SecretOwner::Tenant("default");

class SecretFileTest : public testing::Test {
 protected:
  SecretFile Open(const std::string& passphrase) {
    return SecretFile(path_, SecretFileKey{passphrase, ""}, random_);
  }
  std::string Bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "secrets";
  SeededRandom random_{1};
};

TEST_F(SecretFileTest, SecretsAreSetReadListedAndRemoved) {
  SecretFile file = Open("open sesame");
  EXPECT_TRUE(file.List()->empty());
  EXPECT_EQ(*file.Set(kMine, "b", "value of b"), "1");
  EXPECT_EQ(*file.Set(kMine, "a", "first"), "1");
  EXPECT_EQ(*file.Set(kMine, "a", "second"), "2");
  SecretFile again = Open("open sesame");
  EXPECT_EQ(*again.Get(kMine, {"x", "file", "a", ""}), "second");
  EXPECT_EQ(*again.Get(kMine, {"x", "file", "a", "2"}), "second");
  EXPECT_EQ(again.Get(kMine, {"x", "file", "a", "1"}).error().code, ErrorCode::kSecretUnavailable);
  EXPECT_EQ(again.Get(kMine, {"x", "file", "c", ""}).error().code, ErrorCode::kSecretUnavailable);
  const auto entries = again.List();
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ(entries->front().key, "a");
  EXPECT_TRUE(again.Remove(kMine, "a"));
  EXPECT_FALSE(again.Remove(kMine, "a"));
  EXPECT_FALSE(file.Get(kMine, {"x", "file", "a", ""}));
  EXPECT_EQ(*file.Get(kMine, {"x", "file", "b", ""}), "value of b");
}

TEST_F(SecretFileTest, AFileWithoutItsKeyAndAKeyWithoutItsFileAreNoticed) {
  EXPECT_EQ(*HasSecretFile(path_), false);
  std::ofstream(path_) << "secrets";
  EXPECT_NE(HasSecretFile(path_).error().message.find("secrets.key is missing"), std::string::npos);
  std::ofstream(path_ + ".key") << "key";
  EXPECT_EQ(*HasSecretFile(path_), true);
  std::filesystem::remove(path_);
  EXPECT_NE(HasSecretFile(path_).error().message.find("secrets is missing"), std::string::npos);
  EXPECT_FALSE(HasSecretFile(path_ + ".key/secrets")) << "it cannot be looked for";
  EXPECT_NE(SecretFileKey::FromFile(directory_ / "none").error().message.find("No such file"),
            std::string::npos);
}

TEST_F(SecretFileTest, AnOwnerDoesNotSeeTheSecretsOfOthers) {
  const SecretOwner acme = SecretOwner::Tenant("acme");
  const SecretOwner umbrella = SecretOwner::Tenant("umbrella");
  const SecretOwner server = SecretOwner::Server();
  SecretFile file = Open("open sesame");
  ASSERT_TRUE(file.Set(acme, "db/password", "of acme"));
  ASSERT_TRUE(file.Set(server, "db/password", "of the server"));
  ASSERT_TRUE(file.Set(server, "hook", "of the server"));
  SecretFile again = Open("open sesame");
  EXPECT_EQ(*again.Get(acme, {"x", "file", "db/password", ""}), "of acme");
  EXPECT_EQ(*again.Get(server, {"x", "file", "db/password", ""}), "of the server");
  for (const char* key : {"db/password", "hook", "acme/db/password", "server", "tenants", ""}) {
    EXPECT_FALSE(again.Get(umbrella, {"x", "file", key, ""})) << key;
    EXPECT_FALSE(again.Get(SecretOwner::Tenant(""), {"x", "file", key, ""})) << key;
    EXPECT_FALSE(again.Get(kMine, {"x", "file", key, ""})) << key;
  }
  EXPECT_FALSE(again.Get(acme, {"x", "file", "hook", ""}));
  EXPECT_FALSE(again.Remove(umbrella, "db/password"));
  ASSERT_TRUE(again.Set(umbrella, "db/password", "of umbrella"));
  EXPECT_EQ(*again.Get(acme, {"x", "file", "db/password", ""}), "of acme");
  ASSERT_EQ(again.List()->size(), 4U);
  EXPECT_EQ(again.List()->front().owner, acme);
  ASSERT_TRUE(again.Remove(acme, "db/password"));
  EXPECT_EQ(*again.Get(umbrella, {"x", "file", "db/password", ""}), "of umbrella");
}

TEST_F(SecretFileTest, TheServerFallsBackToTheDefaultTenant) {
  SecretFile file = Open("open sesame");
  ASSERT_TRUE(file.Set(kMine, "hook", "of default"));
  EXPECT_EQ(*file.Get(SecretOwner::Server(), {"x", "file", "hook", ""}), "of default");
  ASSERT_TRUE(file.Set(SecretOwner::Server(), "hook", "of the server"));
  EXPECT_EQ(*file.Get(SecretOwner::Server(), {"x", "file", "hook", ""}), "of the server");
}

TEST_F(SecretFileTest, AnEmptyKeyOrValueIsRejected) {
  SecretFile file = Open("open sesame");
  EXPECT_EQ(file.Set(kMine, "k", "").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(file.Set(kMine, "", "v").error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(file.List()->empty());
}

// A file of version 1 has no tenants; all secrets are in one object.
TEST_F(SecretFileTest, SecretsWithoutATenantBelongToTheDefaultTenant) {
  const std::string key(32, 'k');
  const std::string nonce(12, 'n');
  std::string start = "everstep-secrets";
  start.push_back(1);              // version
  start.push_back(2);              // key source: key file
  start.append(1 + 8 + 16, '\0');  // no scrypt
  start += nonce;
  const std::string text = R"({"hook":{"version":"3","value":"old"}})";
  std::ofstream(path_, std::ios::binary) << start << Encrypt(key, nonce, start, text);
  SecretFile file(path_, SecretFileKey{"", key}, random_);
  EXPECT_EQ(*file.Get(kMine, {"x", "file", "hook", "3"}), "old");
  EXPECT_FALSE(file.Get(SecretOwner::Tenant("acme"), {"x", "file", "hook", ""}));
  EXPECT_EQ(*file.Set(kMine, "hook", "new"), "4");
  SecretFile again(path_, SecretFileKey{"", key}, random_);
  EXPECT_EQ(*again.Get(kMine, {"x", "file", "hook", ""}), "new");
}

TEST_F(SecretFileTest, TheFileContainsNoPlainText) {
  SecretFile file = Open("open sesame");
  ASSERT_TRUE(file.Set(kMine, "name-of-secret", "value-of-secret"));
  const std::string first = Bytes();
  EXPECT_TRUE(first.starts_with("everstep-secrets"));
  EXPECT_EQ(first.find("name-of-secret"), std::string::npos);
  EXPECT_EQ(first.find("value-of-secret"), std::string::npos);
  struct stat about {};
  ASSERT_EQ(::stat(path_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
  // Each write must use a new nonce.
  ASSERT_TRUE(file.Set(kMine, "name-of-secret", "value-of-secret"));
  EXPECT_NE(Bytes().substr(43, 12), first.substr(43, 12));
}

TEST_F(SecretFileTest, AWrongPassphraseOrAnyChangedByteIsRejected) {
  ASSERT_TRUE(Open("right").Set(kMine, "k", "v"));
  EXPECT_EQ(Open("wrong").List().error().code, ErrorCode::kSecretUnavailable);
  EXPECT_EQ(Open("").List().error().code, ErrorCode::kSecretUnavailable);
  const std::string good = Bytes();
  SecretFile file = Open("right");
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (i >= 18 && i < 43) continue;  // these change the derived key: slow, and tested below
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    std::ofstream(path_, std::ios::binary) << bad;
    EXPECT_EQ(file.List().error().code, ErrorCode::kSecretUnavailable) << i;
  }
  for (const std::size_t i : {18U, 22U, 26U, 30U}) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    std::ofstream(path_, std::ios::binary) << bad;
    EXPECT_EQ(file.List().error().code, ErrorCode::kSecretUnavailable) << i;
  }
  std::ofstream(path_, std::ios::binary) << good.substr(0, 50);
  EXPECT_FALSE(file.List());
  std::ofstream(path_, std::ios::binary) << good;
  EXPECT_TRUE(file.List());
}

TEST_F(SecretFileTest, AKeyFileCanBeUsedInsteadOfAPassphrase) {
  std::ofstream(directory_ / "key") << std::string(64, 'a') << "\n";
  const auto key = SecretFileKey::FromFile(directory_ / "key");
  ASSERT_TRUE(key);
  SecretFile file(path_, *key, random_);
  ASSERT_TRUE(file.Set(kMine, "k", "v"));
  EXPECT_EQ(*SecretFile(path_, *key, random_).Get(kMine, {"x", "file", "k", ""}), "v");
  SecretFileKey other = *key;
  other.key[0] = 'x';
  EXPECT_FALSE(SecretFile(path_, other, random_).List());
  EXPECT_FALSE(Open("a passphrase").List());
  std::ofstream(directory_ / "short") << "abc";
  EXPECT_FALSE(SecretFileKey::FromFile(directory_ / "short"));
  EXPECT_FALSE(SecretFileKey::FromFile(directory_ / "missing"));
}

TEST(SecretCipher, AgreesWithThePublishedVectors) {
  // RFC 7914 §12, the vector with r = 8 and p = 1, cut to 32 bytes.
  const auto key = KeyFromPassphrase("pleaseletmein", "SodiumChloride", 14);
  ASSERT_TRUE(key);
  const std::string start("\x70\x23\xbd\xcb\x3a\xfd\x73\x48\x46\x1c\x06\xcd\x81\xfd\x38\xeb", 16);
  EXPECT_EQ(key->substr(0, 16), start);
  // McGrew and Viega's test case 14.
  const std::string zeros(32, '\0');
  const std::string encrypted = Encrypt(zeros, zeros.substr(0, 12), "", zeros.substr(0, 16));
  EXPECT_EQ(encrypted,
            std::string("\xce\xa7\x40\x3d\x4d\x60\x6b\x6e\x07\x4e\xc5\xd3\xba\xf3\x9d\x18"
                        "\xd0\xd1\xc8\xa7\x99\x99\x6b\xf0\x26\x5b\x98\xb5\xd4\x8a\xb9\x19",
                        32));
}

}  // namespace
}  // namespace everstep
