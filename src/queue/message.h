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

// What somebody sends.
struct NewMessage {
  std::string tenant_id{};
  std::string topic{};
  std::string id{};     // "msg_" and a ULID; sent again it is the same message. Empty: made here
  std::string group{};  // messages of a group without a key are delivered one at a time
  std::string key{};    // while a message with it is in the queue, a second one is that message
  MessageHeaders headers{};
  std::string body{};
  std::chrono::milliseconds delay{0};
};

// "msg_" and a ULID.
bool IsMessageId(std::string_view id);

// What the queue keeps of a message beside its content.
struct MessageHead {
  std::string id;
  std::string tenant_id;
  std::string topic;
  std::string group;
  std::string key;
  Timestamp sent_at{};
  Timestamp due_at{};
  std::uint32_t attempt = 1;  // the next, or the one under way; 1: it was never delivered before
  bool dead = false;          // given up; waits for an operator
  std::string last_error;

  bool operator==(const MessageHead&) const = default;
};

struct MessageContent {
  MessageHeaders headers;
  std::string body;

  bool operator==(const MessageContent&) const = default;
};

// Stored forms (docs/formats.md). Nothing: not written by these.
std::string EncodeMessageHead(const MessageHead& head);
std::optional<MessageHead> DecodeMessageHead(std::string_view id, std::string_view bytes);
std::string EncodeMessageContent(const MessageHeaders& headers, std::string_view body);
std::optional<MessageContent> DecodeMessageContent(std::string_view bytes);

}  // namespace everstep
