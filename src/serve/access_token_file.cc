// Reads and writes the token file; see docs/formats.md.

#include <utility>

#include "base/json.h"
#include "base/value.h"
#include "event/identifier.h"
#include "serve/access_tokens.h"
#include "serve/private_file.h"

namespace everstep {
namespace {

constexpr std::int64_t kFormat = 1;

void WriteTime(std::string_view key, const std::optional<Timestamp>& time, JsonWriter& writer) {
  if (time) writer.Member(key, FormatTimestamp(*time));
}

// Returns false if the value exists but is not a time.
bool ReadTime(const Value& value, std::optional<Timestamp>& time) {
  if (value.undefined()) return true;
  if (value.kind() != Value::Kind::kText) return false;
  time = ParseTimestamp(value.text());
  return time.has_value();
}

bool ReadDigest(const Value& value, Sha256Digest& digest) {
  if (value.kind() != Value::Kind::kText) return false;
  const auto read = DigestFromHex(value.text());
  if (read) digest = *read;
  return read.has_value();
}

std::string TextOf(const Value& value) {
  return value.kind() == Value::Kind::kText ? value.text() : std::string();
}

bool ReadRoles(const Value& value, RoleSet& roles) {
  if (value.kind() != Value::Kind::kList) return false;
  for (const Value& item : value.list()) {
    const auto role = RoleFromName(TextOf(item));
    if (!role) return false;
    roles.Add(*role);
  }
  return !roles.empty();
}

}  // namespace

std::string AccessTokens::Written(const Tokens& tokens) {
  std::string text;
  JsonWriter writer(text);
  writer.BeginObject();
  writer.Member("format", std::uint64_t{kFormat});
  writer.Key("tokens");
  writer.BeginArray();
  for (const auto& [id, token] : tokens) {
    writer.BeginObject();
    writer.Member("id", id);
    writer.Member("name", token.view.name);
    writer.Member("tenantId", token.view.tenant_id);
    writer.Key("roles");
    writer.BeginArray();
    for (const RoleRule& rule : RoleRules()) {
      if (token.view.roles.Has(rule.role)) writer.String(rule.name);
    }
    writer.EndArray();
    writer.Member("sha256", ToHex(token.secret));
    if (token.former_until != Timestamp()) {
      writer.Member("formerSha256", ToHex(token.former));
      writer.Member("formerUntil", FormatTimestamp(token.former_until));
    }
    writer.Member("createdAt", FormatTimestamp(token.view.created_at));
    WriteTime("expiresAt", token.view.expires_at, writer);
    WriteTime("lastUsedAt", token.view.last_used_at, writer);
    WriteTime("rotatedAt", token.view.rotated_at, writer);
    WriteTime("revokedAt", token.view.revoked_at, writer);
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
  text.push_back('\n');
  return text;
}

std::optional<AccessTokens::Token> AccessTokens::ReadToken(const Value& value) {
  Token token;
  TokenView& view = token.view;
  view.token_id = TextOf(value.Get("id"));
  view.name = TextOf(value.Get("name"));
  view.tenant_id = TextOf(value.Get("tenantId"));
  std::optional<Timestamp> created;
  std::optional<Timestamp> former_until;
  const bool fits = !view.token_id.empty() && IsName(view.name) && IsIdentifier(view.tenant_id) &&
                    ReadRoles(value.Get("roles"), view.roles) &&
                    ReadDigest(value.Get("sha256"), token.secret) &&
                    ReadTime(value.Get("createdAt"), created) && created &&
                    ReadTime(value.Get("formerUntil"), former_until) &&
                    (!former_until || ReadDigest(value.Get("formerSha256"), token.former)) &&
                    ReadTime(value.Get("expiresAt"), view.expires_at) &&
                    ReadTime(value.Get("lastUsedAt"), view.last_used_at) &&
                    ReadTime(value.Get("rotatedAt"), view.rotated_at) &&
                    ReadTime(value.Get("revokedAt"), view.revoked_at);
  if (!fits) return std::nullopt;
  view.created_at = *created;
  token.former_until = former_until.value_or(Timestamp());
  return token;
}

Status AccessTokens::Load() {
  const auto text = ReadPrivateFile(path_, kFileBytesMax);
  if (!text) return text.error();
  if (!*text) return Ok();
  const auto document = ValueFromJson(**text);
  const Error damaged{ErrorCode::kStoreCorrupt, path_ + ": not a token file of format 1", {}};
  if (!document || document->Get("format") != Value::Int(kFormat) ||
      document->Get("tokens").kind() != Value::Kind::kList) {
    return damaged;
  }
  for (const Value& value : document->Get("tokens").list()) {
    auto token = ReadToken(value);
    if (!token) return damaged;
    auto entry = std::make_unique<Entry>();
    entry->permissions = PermissionsOf(token->view.roles);
    if (token->view.last_used_at) entry->last_used_micros = Micros(*token->view.last_used_at);
    entry->token = *std::move(token);
    std::string id = entry->token.view.token_id;
    if (!entries_.emplace(std::move(id), std::move(entry)).second) return damaged;
  }
  return Ok();
}

}  // namespace everstep
