#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/sha256.h"
#include "everstep/result.h"
#include "serve/permissions.h"

namespace everstep {

// The caller that a token stands for.
struct Caller {
  std::string token_id;
  std::string name;
  std::string tenant_id;
  RoleSet roles;
  PermissionSet permissions;
};

struct TokenRequest {
  std::string name;  // for people
  std::string tenant_id;
  RoleSet roles;
  std::optional<Timestamp> expires_at;  // nullopt: never
  bool by_operator = false;             // exempt from the limit on the number of tokens
};

// A token as it may be shown: without its secret.
struct TokenView {
  std::string token_id;
  std::string name;
  std::string tenant_id;
  RoleSet roles;
  Timestamp created_at{};
  std::optional<Timestamp> expires_at;
  // To the minute; kept in memory until the file is next written.
  std::optional<Timestamp> last_used_at;
  std::optional<Timestamp> rotated_at;
  std::optional<Timestamp> revoked_at;
};

// A token with its secret, which is shown only once.
struct NewToken {
  std::string text;  // "est_<id>_<secret>"
  TokenView view;
};

// Limits on the tokens of one tenant.
struct TokenLimits {
  std::size_t live = 1'000;  // valid tokens; requests made by_operator may exceed it
  // Expired or revoked tokens kept for the record: the latest, for 90 days.
  std::size_t ended = 1'000;
};

// The API tokens of a server, stored in `tokens.json` in the data directory. Of a secret only the
// SHA-256 is stored; with 256 random bits it needs no slower hash. Every change gives the file the
// next generation, which `tokens.mark` repeats, so that an older copy is not mistaken for it. The
// process that owns the directory is the only writer. Thread-safe; calls of Authenticate run in
// parallel.
class AccessTokens {
 public:
  enum class Refusal : std::uint8_t { kNone, kMalformed, kUnknown, kExpired, kRevoked };
  struct Answer {
    Refusal refusal = Refusal::kNone;
    Caller caller;  // set if not refused, and for kExpired and kRevoked so that it can be audited
  };

  // Opens or creates the file. If there is no valid admin token (as on the first start), creates
  // one for the tenant "default" and writes it to `admin-token` in the same directory. Rewrites a
  // file of an earlier format. Fails with kStoreIo or kStoreFormatNewer, or with kStoreCorrupt if
  // the file is damaged or older than the one last written.
  static Result<std::unique_ptr<AccessTokens>> Open(const std::string& directory, Clock& clock,
                                                    Random& random, TokenLimits limits = {});

  // The number of valid tokens in a folder; changes nothing. Fails as Open.
  static Result<std::size_t> CountValid(const std::string& directory, Clock& clock, Random& random);
  // Whether the folder has no token file although it had one: it has a mark or an admin token, or
  // its audit log names the tokens of callers. Open then creates a new file, with which the former
  // tokens are unknown.
  static bool HasLostFile(const std::string& directory);

  // Whether the file of an admin token created by Open, now or earlier, still exists.
  bool has_admin_token_file() const;
  const std::string& admin_token_path() const { return admin_token_path_; }

  // Checks a token as sent by a client. Takes equally long for an unknown id and a wrong secret.
  Answer Authenticate(std::string_view token);

  // Returns kInvalidArgument for an invalid name or tenant, no role, an expiry in the past, or too
  // many tokens. The changes made by Create, Rotate and Revoke are durable on return; on kStoreIo
  // nothing has changed.
  Result<NewToken> Create(const TokenRequest& request);
  // Makes a new secret for a token; the old one stays valid for `grace`. Nullopt if the tenant has
  // no such token, or it is revoked or expired.
  Result<std::optional<NewToken>> Rotate(std::string_view token_id, std::string_view tenant_id,
                                         std::chrono::milliseconds grace);
  // Returns false if the tenant has no such token. Idempotent.
  Result<bool> Revoke(std::string_view token_id, std::string_view tenant_id);

  // The oldest first. An empty tenant id lists the tokens of all tenants.
  std::vector<TokenView> List(std::string_view tenant_id) const;
  std::optional<TokenView> Get(std::string_view token_id) const;

  // Persists the times of last use. Everything else is persisted when it changes.
  Status Save();

 private:
  struct Token {
    TokenView view;
    Sha256Digest secret{};
    Sha256Digest former{};
    Timestamp former_until{};
  };
  struct Entry {
    Token token;
    PermissionSet permissions;
    std::atomic<std::int64_t> last_used_micros{0};
  };
  using Tokens = std::map<std::string, Token, std::less<>>;
  static constexpr std::size_t kFileBytesMax = 256 << 20;

  AccessTokens(std::string directory, Clock& clock, Random& random, TokenLimits limits);
  Status Load();
  Status LoadMark();
  Status MakeAdminToken();
  Tokens Copy() const;
  // Must be called with change_ held, or before anyone else can access this object.
  Status Write(const Tokens& tokens, std::uint64_t generation);
  Status Replace(Tokens tokens);
  void ForgetEnded(Tokens& tokens, Timestamp now) const;
  std::string MakeText(std::string_view token_id, Sha256Digest& secret);
  static std::optional<Token> ReadToken(const class Value& value);
  static std::string Written(const Tokens& tokens, std::uint64_t generation);

  const std::string path_;
  const std::string mark_path_;
  const std::string admin_token_path_;
  Clock& clock_;
  Random& random_;
  const TokenLimits limits_;
  std::mutex change_;                // serializes changes; held while the file is written
  std::uint64_t generation_ = 0;     // of the file, or of the mark if that is greater
  std::uint64_t marked_ = 0;         // the generation in the mark
  mutable std::shared_mutex mutex_;  // guards the map; never held during disk I/O
  std::unordered_map<std::string, std::unique_ptr<Entry>> entries_;
};

}  // namespace everstep
