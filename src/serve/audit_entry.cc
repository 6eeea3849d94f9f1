#include "serve/audit_entry.h"

#include <charconv>

#include "base/encoding.h"
#include "base/hmac.h"
#include "base/json.h"
#include "base/utf8.h"
#include "serve/private_file.h"

namespace everstep {
namespace {

constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kTextBytesMax = 2'048;
constexpr std::size_t kHashDigits = 64;
constexpr std::string_view kHashMember = ",\"hash\":\"";
constexpr std::string_view kLineEnd = "\"}";

void WriteText(std::string_view key, std::string_view text, JsonWriter& writer) {
  if (text.empty()) return;
  if (text.size() <= kTextBytesMax && IsUtf8(text)) return writer.Member(key, text);
  const std::string valid = ValidUtf8(text.substr(0, 2 * kTextBytesMax));
  writer.Member(key, CutAtCharacter(valid, kTextBytesMax));
}

std::optional<std::uint64_t> NumberMember(std::string_view json, std::string_view key) {
  const auto text = RawMember(json, key);
  if (!text) return std::nullopt;
  std::uint64_t number = 0;
  const auto read = std::from_chars(text->data(), text->data() + text->size(), number);
  if (read.ec != std::errc() || read.ptr != text->data() + text->size()) return std::nullopt;
  return number;
}

std::optional<std::string> HexMember(std::string_view json, std::string_view key) {
  const auto text = RawMember(json, key);
  if (!text || text->size() != kHashDigits + 2) return std::nullopt;
  return std::string(text->substr(1, kHashDigits));
}

// Appends the hash to `body`, a JSON object, as its last member.
AuditLine Sealed(std::string body, const AuditKey& key) {
  AuditLine line;
  line.hash = ToHex(HmacSha256(key.bytes, body));
  line.text = std::move(body);
  line.text.pop_back();
  line.text.append(kHashMember).append(line.hash).append(kLineEnd);
  return line;
}

// Returns the object as it was before sealing; nullopt if the hash does not match.
std::optional<std::string> Unsealed(std::string_view text, const AuditKey& key, std::string& hash) {
  const std::size_t seal = kHashMember.size() + kHashDigits + kLineEnd.size();
  if (text.size() < seal + 2 || !text.starts_with('{')) return std::nullopt;
  const std::string_view tail = text.substr(text.size() - seal);
  if (!tail.starts_with(kHashMember) || !tail.ends_with(kLineEnd)) return std::nullopt;
  hash = tail.substr(kHashMember.size(), kHashDigits);
  std::string body(text.substr(0, text.size() - seal));
  body.push_back('}');
  if (!EqualInConstantTime(ToHex(HmacSha256(key.bytes, body)), hash)) return std::nullopt;
  return body;
}

}  // namespace

Result<AuditKey> AuditKey::Read(const std::string& path) {
  auto bytes = ReadPrivateFile(path, kKeyBytes);
  if (!bytes) return bytes.error();
  if (!*bytes) return Error{ErrorCode::kStoreNotFound, path + ": no such key file", {}};
  if ((*bytes)->size() != kKeyBytes) {
    return Error{ErrorCode::kStoreCorrupt, path + ": not a 32-byte key", {}};
  }
  return AuditKey{**std::move(bytes)};
}

AuditKey AuditKey::Make(Random& random) { return {RandomBytes(random, kKeyBytes)}; }

Status AuditKey::Write(const std::string& path) const { return WritePrivateFile(path, bytes); }

AuditLine MakeAuditLine(const AuditEntry& entry, std::uint64_t seq, Timestamp at,
                        std::string_view prev, const AuditKey& key, std::uint64_t left_out) {
  std::string json;
  json.reserve(640);
  JsonWriter writer(json);
  // Members are in the order of RFC 8785, so nothing has to be sorted.
  writer.BeginObject();
  WriteText("action", entry.action, writer);
  WriteText("actor", entry.actor, writer);
  writer.Member("at", FormatTimestamp(at));
  WriteText("code", entry.code, writer);
  WriteText("detail", entry.detail, writer);
  if (left_out > 0) writer.Member("leftOut", left_out);
  WriteText("method", entry.method, writer);
  WriteText("path", entry.path, writer);
  writer.Member("prev", prev);
  WriteText("requestId", entry.request_id, writer);
  WriteText("runId", entry.run_id, writer);
  writer.Member("seq", seq);
  WriteText("sourceIp", entry.source_ip, writer);
  if (entry.status != 0) writer.Member("status", static_cast<std::uint64_t>(entry.status));
  WriteText("tenantId", entry.tenant_id, writer);
  WriteText("tokenId", entry.token_id, writer);
  writer.EndObject();
  return Sealed(std::move(json), key);
}

std::optional<AuditLineView> ReadAuditLine(std::string_view text, const AuditKey& key) {
  AuditLineView view;
  const auto body = Unsealed(text, key, view.hash);
  if (!body) return std::nullopt;
  // The hash matches, so we wrote it and it is valid JSON.
  const auto seq = NumberMember(*body, "seq");
  auto prev = HexMember(*body, "prev");
  if (!seq || !prev) return std::nullopt;
  view.seq = *seq;
  view.prev = *std::move(prev);
  return view;
}

std::string WrittenHead(const AuditHead& head, const AuditKey& key) {
  std::string json;
  JsonWriter writer(json);
  writer.BeginObject();
  writer.Member("bytes", head.bytes);
  writer.Member("head", head.hash);
  writer.Member("seq", head.seq);
  writer.EndObject();
  return Sealed(std::move(json), key).text + "\n";
}

std::optional<AuditHead> ReadHead(std::string_view text, const AuditKey& key) {
  // Heads overwrite each other in place, so the bytes after the line may belong to an older one.
  text = text.substr(0, text.find('\n'));
  std::string hash;
  const auto body = Unsealed(text, key, hash);
  if (!body) return std::nullopt;
  const auto seq = NumberMember(*body, "seq");
  const auto bytes = NumberMember(*body, "bytes");
  auto head = HexMember(*body, "head");
  if (!seq || !bytes || !head) return std::nullopt;
  return AuditHead{*seq, *std::move(head), *bytes};
}

}  // namespace everstep
