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

// Who calls: what the token stands for.
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
  std::optional<Timestamp> expires_at;  // nothing: never
  bool by_operator = false;             // who asks is bound by no limit on the number of tokens
};

// A token as it can be shown: without its secret.
struct TokenView {
  std::string token_id;
  std::string name;
  std::string tenant_id;
  RoleSet roles;
  Timestamp created_at{};
  std::optional<Timestamp> expires_at;
  std::optional<Timestamp> last_used_at;  // to the minute; since the last write only in memory
  std::optional<Timestamp> rotated_at;
  std::optional<Timestamp> revoked_at;
};

// A token with its secret, which is shown this once.
struct NewToken {
  std::string text;  // "est_<id>_<secret>"
  TokenView view;
};

// How many tokens one tenant has.
struct TokenLimits {
  std::size_t live = 1'000;   // valid ones; who has the operator's rights may make more
  std::size_t ended = 1'000;  // ended ones that are kept for the record: the latest, for 90 days
};

// The API tokens of a server: `tokens.json` in the data folder. Of a secret only the SHA-256 is
// kept: it has 256 random bits, so that nothing slower is needed. The process that has the folder
// is the only writer. Thread-safe; Authenticate shares a lock with its likes.
class AccessTokens {
 public:
  enum class Refusal : std::uint8_t { kNone, kMalformed, kUnknown, kExpired, kRevoked };
  struct Answer {
    Refusal refusal = Refusal::kNone;
    Caller caller;  // if not refused; for kExpired and kRevoked too, so that it can be audited
  };

  // Opens or creates the file. If no admin's token is valid (as on the first start) it makes one
  // for the tenant "default" and writes it to `admin-token` beside. kStoreIo, kStoreCorrupt.
  static Result<std::unique_ptr<AccessTokens>> Open(const std::string& directory, Clock& clock,
                                                    Random& random, TokenLimits limits = {});

  // Whether an admin's token that Open made, now or earlier, still lies where it was written.
  bool has_admin_token_file() const;
  const std::string& admin_token_path() const { return admin_token_path_; }

  // Of a token as it is sent. Takes as long for an unknown id as for a wrong secret.
  Answer Authenticate(std::string_view token);

  // kInvalidArgument: a bad name or tenant, no role, expiry in the past, too many tokens. All are
  // durable on return; on kStoreIo nothing has changed.
  Result<NewToken> Create(const TokenRequest& request);
  // A new secret for the same token; the old one is valid until `grace` is over. Nothing: there is
  // no such token of that tenant, or it is revoked or expired.
  Result<std::optional<NewToken>> Rotate(std::string_view token_id, std::string_view tenant_id,
                                         std::chrono::milliseconds grace);
  // False: there is no such token of that tenant. Again is the same as once.
  Result<bool> Revoke(std::string_view token_id, std::string_view tenant_id);

  // Oldest first. An empty tenant: of all.
  std::vector<TokenView> List(std::string_view tenant_id) const;
  std::optional<TokenView> Get(std::string_view token_id) const;

  // Keeps what is known of last uses. Everything else is kept already.
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
  Status MakeAdminToken();
  Tokens Copy() const;
  Status Replace(Tokens tokens);
  void ForgetEnded(Tokens& tokens, Timestamp now) const;
  std::string MakeText(std::string_view token_id, Sha256Digest& secret);
  static std::optional<Token> ReadToken(const class Value& value);
  static std::string Written(const Tokens& tokens);

  const std::string path_;
  const std::string admin_token_path_;
  Clock& clock_;
  Random& random_;
  const TokenLimits limits_;
  std::mutex change_;                // one change at a time; held while the file is written
  mutable std::shared_mutex mutex_;  // guards the map; never held while the disk works
  std::unordered_map<std::string, std::unique_ptr<Entry>> entries_;
};

}  // namespace everstep
