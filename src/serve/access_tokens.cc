#include "serve/access_tokens.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/hmac.h"
#include "event/identifier.h"
#include "serve/private_file.h"

namespace everstep {
namespace {

constexpr std::string_view kPrefix = "est_";
constexpr std::size_t kIdCharacters = 12;
constexpr std::size_t kSecretCharacters = 43;  // of 62 letters: 256 bits
constexpr std::string_view kAlphabet =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::chrono::hours kKeptAfterEnd{24 * 90};
constexpr std::chrono::minutes kUseGrain{1};

std::string RandomWord(Random& random, std::size_t count) {
  std::string word;
  while (word.size() < count) {
    std::uint64_t bits = random.Next();
    for (int i = 0; i < 10 && word.size() < count; ++i, bits >>= 6) {
      // Draw again for values beyond the alphabet, so that all letters are equally likely.
      const std::size_t index = bits & 63;
      if (index < kAlphabet.size()) word.push_back(kAlphabet[index]);
    }
  }
  return word;
}

bool IsWord(std::string_view text, std::size_t size) {
  return text.size() == size && text.find_first_not_of(kAlphabet) == std::string_view::npos;
}

bool IsLive(const TokenView& view, Timestamp now) {
  return !view.revoked_at && (!view.expires_at || *view.expires_at > now);
}

// Requires: the token is not live.
Timestamp EndOf(const TokenView& view) {
  return view.revoked_at ? *view.revoked_at : view.expires_at.value_or(Timestamp());
}

// `pointer` names the invalid member of the request.
Error Invalid(const char* pointer, const char* message) {
  return {ErrorCode::kInvalidArgument, "invalid token request", {{pointer, message}}};
}

}  // namespace

AccessTokens::AccessTokens(std::string directory, Clock& clock, Random& random, TokenLimits limits)
    : path_(directory + "/tokens.json"),
      mark_path_(directory + "/tokens.mark"),
      admin_token_path_(directory + "/admin-token"),
      clock_(clock),
      random_(random),
      limits_(limits) {}

Result<std::unique_ptr<AccessTokens>> AccessTokens::Open(const std::string& directory, Clock& clock,
                                                         Random& random, TokenLimits limits) {
  std::unique_ptr<AccessTokens> tokens(new AccessTokens(directory, clock, random, limits));
  if (Status loaded = tokens->Load(); !loaded) return loaded.error();
  // The file has no checksum yet, or the mark is missing or older than the file.
  const bool is_incomplete = tokens->generation_ == 0 || tokens->generation_ != tokens->marked_;
  if (is_incomplete && !tokens->entries_.empty()) {
    if (Status saved = tokens->Save(); !saved) return saved.error();
  }
  const auto views = tokens->List("");
  const Timestamp now = clock.Now();
  const bool has_admin = std::any_of(views.begin(), views.end(), [&](const TokenView& view) {
    return view.roles.Has(Role::kAdmin) && IsLive(view, now);
  });
  if (!has_admin) {
    if (Status made = tokens->MakeAdminToken(); !made) return made.error();
  }
  return tokens;
}

Result<std::size_t> AccessTokens::CountValid(const std::string& directory, Clock& clock,
                                             Random& random) {
  AccessTokens tokens(directory, clock, random, {});
  if (const Status loaded = tokens.Load(); !loaded) return loaded.error();
  const Timestamp now = clock.Now();
  return static_cast<std::size_t>(std::ranges::count_if(
      tokens.List(""), [now](const TokenView& view) { return IsLive(view, now); }));
}

bool AccessTokens::HasLostFile(const std::string& directory) {
  std::error_code failed;
  if (std::filesystem::exists(directory + "/tokens.json", failed) || failed) return false;
  for (const char* left : {"/tokens.mark", "/admin-token"}) {
    if (std::filesystem::exists(directory + left, failed)) return true;
  }
  std::ifstream audit(directory + "/audit.log");
  for (std::string line; std::getline(audit, line);) {
    const std::size_t token = line.find(R"("tokenId":")");
    if (token != std::string::npos && line.compare(token, 15, R"("tokenId":"dev")") != 0)
      return true;
  }
  return false;
}

Status AccessTokens::MakeAdminToken() {
  Tokens tokens = Copy();
  Token token;
  token.view.token_id = RandomWord(random_, kIdCharacters);
  token.view.name = "admin";
  token.view.tenant_id = "default";
  token.view.roles = RoleSet(Role::kAdmin);
  token.view.created_at = clock_.Now();
  const std::string text = MakeText(token.view.token_id, token.secret);
  // Write the secret before the token: a crash in between must not leave a valid token whose secret
  // nobody knows.
  if (Status written = WritePrivateFile(admin_token_path_, text + "\n"); !written) return written;
  tokens.emplace(token.view.token_id, token);
  return Replace(std::move(tokens));
}

std::string AccessTokens::MakeText(std::string_view token_id, Sha256Digest& secret) {
  const std::string word = RandomWord(random_, kSecretCharacters);
  secret = Sha256(word);
  return std::string(kPrefix) + std::string(token_id) + "_" + word;
}

bool AccessTokens::has_admin_token_file() const {
  std::error_code failed;
  return std::filesystem::exists(admin_token_path_, failed);
}

AccessTokens::Answer AccessTokens::Authenticate(std::string_view token) {
  Answer answer;
  answer.refusal = Refusal::kMalformed;
  if (!token.starts_with(kPrefix)) return answer;
  token.remove_prefix(kPrefix.size());
  const std::size_t bar = std::min(token.find('_'), token.size());
  const std::string_view id = token.substr(0, bar);
  const std::string_view secret = token.substr(std::min(bar + 1, token.size()));
  if (!IsWord(id, kIdCharacters) || !IsWord(secret, kSecretCharacters)) return answer;

  const Sha256Digest digest = Sha256(secret);
  const Timestamp now = clock_.Now();
  answer.refusal = Refusal::kUnknown;
  const std::shared_lock lock(mutex_);
  const auto found = entries_.find(std::string(id));
  if (found == entries_.end()) {
    static const Sha256Digest kNobody{};
    (void)EqualInConstantTime(digest, kNobody);
    return answer;
  }
  Entry& entry = *found->second;
  const Token& known = entry.token;
  const bool current = EqualInConstantTime(digest, known.secret);
  const bool former = EqualInConstantTime(digest, known.former) && now < known.former_until;
  if (!current && !former) return answer;
  const TokenView& view = known.view;
  answer.caller = {view.token_id, view.name, view.tenant_id, view.roles, entry.permissions};
  if (view.revoked_at) {
    answer.refusal = Refusal::kRevoked;
  } else if (!IsLive(view, now)) {
    answer.refusal = Refusal::kExpired;
  } else {
    answer.refusal = Refusal::kNone;
    const std::int64_t last = entry.last_used_micros.load(std::memory_order_relaxed);
    if (now - FromMicros(last) >= kUseGrain) {
      entry.last_used_micros.store(Micros(now), std::memory_order_relaxed);
    }
  }
  return answer;
}

// Drops tokens that ended over 90 days ago, and the earliest ended ones of a tenant that has too
// many.
void AccessTokens::ForgetEnded(Tokens& tokens, Timestamp now) const {
  std::map<std::string_view, std::vector<Tokens::iterator>> ended;
  for (auto token = tokens.begin(); token != tokens.end();) {
    const TokenView& view = token->second.view;
    if (!IsLive(view, now) && EndOf(view) + kKeptAfterEnd < now) {
      token = tokens.erase(token);
      continue;
    }
    if (!IsLive(view, now)) ended[view.tenant_id].push_back(token);
    ++token;
  }
  std::vector<Tokens::iterator> forgotten;
  for (auto& [tenant_id, theirs] : ended) {
    if (theirs.size() <= limits_.ended) continue;
    std::ranges::stable_sort(theirs, {}, [](auto token) { return EndOf(token->second.view); });
    forgotten.insert(forgotten.end(), theirs.begin(),
                     theirs.end() - static_cast<std::ptrdiff_t>(limits_.ended));
  }
  for (const auto token : forgotten) tokens.erase(token);
}

Result<NewToken> AccessTokens::Create(const TokenRequest& request) {
  const Timestamp now = clock_.Now();
  if (!IsName(request.name)) return Invalid("/name", "must have 1 to 256 characters");
  if (!IsIdentifier(request.tenant_id))
    return Invalid("/tenantId", "must be letters, digits and . _ : - (1 to 128)");
  if (request.roles.empty()) return Invalid("/roles", "must contain at least one role");
  if (request.expires_at && *request.expires_at <= now)
    return Invalid("/expiresAt", "must be in the future");
  const std::lock_guard change(change_);
  Tokens tokens = Copy();
  ForgetEnded(tokens, now);
  const auto live = static_cast<std::size_t>(std::ranges::count_if(tokens, [&](const auto& token) {
    return token.second.view.tenant_id == request.tenant_id && IsLive(token.second.view, now);
  }));
  if (live >= limits_.live && !request.by_operator) {
    return Error{ErrorCode::kInvalidArgument,
                 "the tenant has " + std::to_string(live) +
                     " valid tokens, which is the limit; "
                     "revoke some",
                 {}};
  }
  Token token;
  do {
    token.view.token_id = RandomWord(random_, kIdCharacters);
  } while (tokens.contains(token.view.token_id));
  token.view.name = request.name;
  token.view.tenant_id = request.tenant_id;
  token.view.roles = request.roles;
  token.view.created_at = now;
  token.view.expires_at = request.expires_at;
  NewToken made{MakeText(token.view.token_id, token.secret), token.view};
  tokens.emplace(token.view.token_id, std::move(token));
  if (Status replaced = Replace(std::move(tokens)); !replaced) return replaced.error();
  return made;
}

Result<std::optional<NewToken>> AccessTokens::Rotate(std::string_view token_id,
                                                     std::string_view tenant_id,
                                                     std::chrono::milliseconds grace) {
  const std::lock_guard change(change_);
  const Timestamp now = clock_.Now();
  Tokens tokens = Copy();
  const auto found = tokens.find(token_id);
  if (found == tokens.end() || found->second.view.tenant_id != tenant_id ||
      !IsLive(found->second.view, now)) {
    return std::optional<NewToken>();
  }
  Token& token = found->second;
  token.former = token.secret;
  token.former_until = now + grace;
  token.view.rotated_at = now;
  NewToken made{MakeText(token_id, token.secret), token.view};
  if (Status replaced = Replace(std::move(tokens)); !replaced) return replaced.error();
  return std::optional<NewToken>(std::move(made));
}

Result<bool> AccessTokens::Revoke(std::string_view token_id, std::string_view tenant_id) {
  const std::lock_guard change(change_);
  Tokens tokens = Copy();
  const auto found = tokens.find(token_id);
  if (found == tokens.end() || found->second.view.tenant_id != tenant_id) return false;
  if (found->second.view.revoked_at) return true;
  found->second.view.revoked_at = clock_.Now();
  ForgetEnded(tokens, clock_.Now());
  if (Status replaced = Replace(std::move(tokens)); !replaced) return replaced.error();
  return true;
}

AccessTokens::Tokens AccessTokens::Copy() const {
  const std::shared_lock lock(mutex_);
  Tokens tokens;
  for (const auto& [id, entry] : entries_) {
    Token token = entry->token;
    const std::int64_t used = entry->last_used_micros.load(std::memory_order_relaxed);
    if (used != 0) token.view.last_used_at = FromMicros(used);
    tokens.emplace(id, std::move(token));
  }
  return tokens;
}

Status AccessTokens::Replace(Tokens tokens) {
  if (Status written = Write(tokens, generation_ + 1); !written) return written;
  const std::unique_lock lock(mutex_);
  std::erase_if(entries_, [&](const auto& entry) { return !tokens.contains(entry.first); });
  for (auto& [id, token] : tokens) {
    std::unique_ptr<Entry>& entry = entries_[id];
    if (!entry) {
      entry = std::make_unique<Entry>();
      if (token.view.last_used_at) entry->last_used_micros = Micros(*token.view.last_used_at);
    }
    entry->permissions = PermissionsOf(token.view.roles);
    entry->token = std::move(token);
  }
  return Ok();
}

std::vector<TokenView> AccessTokens::List(std::string_view tenant_id) const {
  std::vector<TokenView> views;
  for (auto& [id, token] : Copy()) {
    if (tenant_id.empty() || token.view.tenant_id == tenant_id) views.push_back(token.view);
  }
  std::stable_sort(views.begin(), views.end(), [](const TokenView& a, const TokenView& b) {
    return a.created_at < b.created_at;
  });
  return views;
}

std::optional<TokenView> AccessTokens::Get(std::string_view token_id) const {
  const Tokens tokens = Copy();
  const auto found = tokens.find(token_id);
  if (found == tokens.end()) return std::nullopt;
  return found->second.view;
}

Status AccessTokens::Save() {
  const std::lock_guard change(change_);
  return Write(Copy(), std::max<std::uint64_t>(generation_, 1));
}

}  // namespace everstep
