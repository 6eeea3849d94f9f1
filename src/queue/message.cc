#include "queue/message.h"

#include "base/bytes.h"
#include "base/ulid.h"

namespace everstep {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHeadersMax = 64;
constexpr std::size_t kBytesPerWeight = 512;

}  // namespace

bool IsMessageId(std::string_view id) {
  constexpr std::string_view kPrefix = "msg_";
  return id.starts_with(kPrefix) && IsUlid(id.substr(kPrefix.size()));
}

std::size_t WeightOf(const MessageHead& head) {
  return 1 + (head.topic.size() + head.group.size() + head.key.size()) / kBytesPerWeight;
}

std::size_t BytesOf(const MessageHeaders& headers, std::string_view body) {
  std::size_t bytes = body.size();
  for (const auto& [name, value] : headers) bytes += name.size() + value.size();
  return bytes;
}

std::string EncodeMessageHead(const MessageHead& head) {
  std::string bytes;
  ByteWriter out(bytes);
  out.U8(kVersion);
  out.U8(head.dead ? 1 : 0);
  out.String(head.tenant_id);
  out.String(head.topic);
  out.String(head.group);
  out.String(head.key);
  out.SignedVarint(Micros(head.sent_at));
  out.SignedVarint(Micros(head.due_at));
  out.Varint(head.attempt);
  out.String(head.last_error);
  return bytes;
}

std::optional<MessageHead> DecodeMessageHead(std::string_view id, std::string_view bytes) {
  ByteReader in(bytes);
  if (in.U8() != kVersion) return std::nullopt;
  MessageHead head;
  head.id = id;
  head.dead = in.U8() != 0;
  head.tenant_id = in.String();
  head.topic = in.String();
  head.group = in.String();
  head.key = in.String();
  head.sent_at = FromMicros(in.SignedVarint());
  head.due_at = FromMicros(in.SignedVarint());
  const std::uint64_t attempt = in.Varint();
  head.attempt = static_cast<std::uint32_t>(attempt);
  head.last_error = in.String();
  if (!in.ok() || !in.AtEnd()) return std::nullopt;
  const bool is_valid =
      IsMessageId(id) && !head.topic.empty() && attempt >= 1 && attempt <= UINT32_MAX;
  return is_valid ? std::optional(std::move(head)) : std::nullopt;
}

std::string EncodeMessageContent(const MessageHeaders& headers, std::string_view body) {
  std::string bytes;
  ByteWriter out(bytes);
  out.U8(kVersion);
  out.Varint(headers.size());
  for (const auto& [name, value] : headers) {
    out.String(name);
    out.String(value);
  }
  out.Raw(body);
  return bytes;
}

std::optional<MessageContent> DecodeMessageContent(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.U8() != kVersion) return std::nullopt;
  MessageContent content;
  const std::uint64_t count = in.Varint();
  if (count > kHeadersMax) return std::nullopt;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string name(in.String());
    content.headers.emplace_back(std::move(name), std::string(in.String()));
  }
  if (!in.ok()) return std::nullopt;
  content.body = in.rest();
  return content;
}

}  // namespace everstep
