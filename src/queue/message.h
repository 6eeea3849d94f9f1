#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/timestamp.h"

namespace everstep {

using MessageHeaders = std::vector<std::pair<std::string, std::string>>;

// A message to be sent.
struct NewMessage {
  std::string tenant_id{};
  std::string topic{};
  std::string id{};     // "msg_" and a ULID, for idempotent sends; empty: generated
  std::string group{};  // messages of a group are delivered one at a time, unless they have a key
  std::string key{};    // deduplicates: no new message is added while one with the key is queued
  MessageHeaders headers{};
  std::string body{};
  std::chrono::milliseconds delay{0};
};

// Whether `id` is "msg_" and a ULID.
bool IsMessageId(std::string_view id);

// The state of a message in the queue, without its content.
struct MessageHead {
  std::string id;
  std::string tenant_id;
  std::string topic;
  std::string group;
  std::string key;
  Timestamp sent_at{};
  Timestamp due_at{};
  std::uint32_t attempt = 1;  // the next or current attempt; 1 guarantees no earlier delivery
  bool dead = false;          // given up until an operator replays it
  std::string last_error;

  bool operator==(const MessageHead&) const = default;
};

// How many messages this one counts for in the limit of the queue: one for every 512 bytes of its
// texts, which are kept in memory.
std::size_t WeightOf(const MessageHead& head);

struct MessageContent {
  MessageHeaders headers;
  std::string body;

  bool operator==(const MessageContent&) const = default;
};
std::size_t BytesOf(const MessageHeaders& headers, std::string_view body);

// The stored forms (docs/formats.md). Decoding returns nullopt for any other bytes.
std::string EncodeMessageHead(const MessageHead& head);
std::optional<MessageHead> DecodeMessageHead(std::string_view id, std::string_view bytes);
std::string EncodeMessageContent(const MessageHeaders& headers, std::string_view body);
std::optional<MessageContent> DecodeMessageContent(std::string_view bytes);

}  // namespace everstep
