// Reads and writes the token file and its mark; see docs/formats.md.

#include <utility>

#include "base/json.h"
#include "base/value.h"
#include "event/identifier.h"
#include "serve/access_tokens.h"
#include "serve/checked_json.h"
#include "serve/private_file.h"

namespace everstep {
namespace {

constexpr std::int64_t kFormat = 2;
constexpr std::int64_t kFormatWithoutChecksum = 1;
constexpr std::int64_t kMarkFormat = 1;
constexpr std::size_t kMarkBytesMax = 4 << 10;

Error Corrupt(const std::string& path, const std::string& why) {
  return {ErrorCode::kStoreCorrupt, path + ": " + why, {}};
}

// The positive number in a member; nullopt if there is none.
std::optional<std::uint64_t> NumberOf(const Value& value) {
  if (value.kind() != Value::Kind::kInt || value.int_value() <= 0) return std::nullopt;
  return static_cast<std::uint64_t>(value.int_value());
}

// The document in a file of this or an earlier format. kStoreCorrupt, kStoreFormatNewer.
Result<Value> DocumentIn(const std::string& path, const std::string& text) {
  const auto checked = WithoutChecksum(text);
  const auto document = ValueFromJson(checked ? *checked : text);
  if (!checked) {
    // Files of format 1 have no checksum, and nothing but these two members.
    const bool former = document && document->Get("format") == Value::Int(kFormatWithoutChecksum) &&
                        document->member_count() == 2;
    if (former) return *document;
    return Corrupt(path,
                   "the file is damaged: its content does not match its checksum; restore it from "
                   "a backup");
  }
  if (!document) return Corrupt(path, "the file is not JSON; restore it from a backup");
  const auto format = NumberOf(document->Get("format"));
  if (format && *format > static_cast<std::uint64_t>(kFormat)) {
    return Error{ErrorCode::kStoreFormatNewer,
                 path + ": has format " + std::to_string(*format) +
                     "; this version reads up to format " + std::to_string(kFormat),
                 {}};
  }
  if (document->Get("format") != Value::Int(kFormat)) {
    return Corrupt(path, "not a token file of format 2; restore tokens.json from a backup");
  }
  return *document;
}

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

std::string AccessTokens::Written(const Tokens& tokens, std::uint64_t generation) {
  std::string text;
  JsonWriter writer(text);
  writer.BeginObject();
  writer.Member("format", std::uint64_t{kFormat});
  writer.Member("generation", generation);
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
  return WithChecksum(std::move(text));
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
  const Status marked = LoadMark();
  if (!marked) return marked;
  const auto text = ReadPrivateFile(path_, kFileBytesMax);
  if (!text) return text.error();
  if (!*text) return Ok();
  const auto document = DocumentIn(path_, **text);
  if (!document) return document.error();
  // A file without a checksum has no generation: it is older than any that has one.
  const bool former = document->Get("format") == Value::Int(kFormatWithoutChecksum);
  const auto generation =
      former ? std::optional<std::uint64_t>(0) : NumberOf(document->Get("generation"));
  const Value tokens = document->Get("tokens");
  if (!generation || tokens.kind() != Value::Kind::kList) {
    return Corrupt(path_, "the file has no generation or no tokens; restore it from a backup");
  }
  if (*generation < generation_) {
    return Corrupt(path_, "the file is older than the last one that was written (generation " +
                              std::to_string(*generation) + ", last written " +
                              std::to_string(generation_) +
                              "): tokens that were revoked since then would be valid again. "
                              "Restore the last one, or remove " +
                              mark_path_ + " to accept this one");
  }
  generation_ = *generation;
  for (const Value& value : tokens.list()) {
    auto token = ReadToken(value);
    if (!token) return Corrupt(path_, "a token is not valid; restore the file from a backup");
    auto entry = std::make_unique<Entry>();
    entry->permissions = PermissionsOf(token->view.roles);
    if (token->view.last_used_at) entry->last_used_micros = Micros(*token->view.last_used_at);
    entry->token = *std::move(token);
    std::string id = entry->token.view.token_id;
    if (!entries_.emplace(std::move(id), std::move(entry)).second) {
      return Corrupt(path_, "two tokens have the same id; restore the file from a backup");
    }
  }
  return Ok();
}

Status AccessTokens::LoadMark() {
  const auto text = ReadPrivateFile(mark_path_, kMarkBytesMax);
  if (!text) return text.error();
  if (!*text) return Ok();
  const auto checked = WithoutChecksum(**text);
  const auto document = checked ? ValueFromJson(*checked) : Result<Value>(Value());
  const auto generation = document ? NumberOf(document->Get("generation")) : std::nullopt;
  if (!generation || document->Get("format") != Value::Int(kMarkFormat) ||
      document->member_count() != 2) {
    return Corrupt(mark_path_,
                   "the file is damaged; restore it from a backup, or remove it to accept "
                   "tokens.json as it is");
  }
  generation_ = *generation;
  marked_ = *generation;
  return Ok();
}

Status AccessTokens::Write(const Tokens& tokens, std::uint64_t generation) {
  const std::string text = Written(tokens, generation);
  if (text.size() > kFileBytesMax) {
    return Error{
        ErrorCode::kInvalidArgument,
        path_ + ": would have more than " + std::to_string(kFileBytesMax) + " bytes; revoke tokens",
        {}};
  }
  if (const Status written = WritePrivateFile(path_, text); !written) return written;
  generation_ = generation;
  if (marked_ == generation) return Ok();
  std::string mark;
  JsonWriter writer(mark);
  writer.BeginObject();
  writer.Member("format", std::uint64_t{kMarkFormat});
  writer.Member("generation", generation);
  writer.EndObject();
  // If it cannot be written, the tokens are durable nevertheless, and the next write repeats it.
  if (WritePrivateFile(mark_path_, WithChecksum(std::move(mark)))) marked_ = generation;
  return Ok();
}

}  // namespace everstep
