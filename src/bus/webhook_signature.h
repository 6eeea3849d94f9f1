#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/timestamp.h"
#include "net/http_message.h"

namespace everstep {

// Standard Webhooks (v1: HMAC-SHA256): a sender signs "id.timestamp.body" with a shared secret.

// The bytes of a "whsec_…" secret.
class WebhookSecret {
 public:
  // Base64 of 24 to 64 bytes, with or without the prefix; nothing otherwise.
  static std::optional<WebhookSecret> Parse(std::string_view text);

  // "v1,<base64>".
  std::string Sign(std::string_view id, std::int64_t seconds, std::string_view body) const;

 private:
  std::string bytes_;
};

inline constexpr std::chrono::seconds kWebhookTolerance{5 * 60};

enum class WebhookVerdict : std::uint8_t {
  kGood,
  kMalformed,     // a header is missing or not of its form
  kTooOld,        // signed more than the tolerance ago
  kTooNew,        // more than the tolerance in the future
  kBadSignature,  // none of the signatures is of one of the secrets
};
std::string_view Name(WebhookVerdict verdict);  // for people

struct WebhookCheck {
  WebhookVerdict verdict = WebhookVerdict::kMalformed;
  std::string id;  // webhook-id, of a good one
};

// Headers with names in lower case. Several secrets while they are being changed. Tells nothing of
// how near a wrong signature was, neither by time.
WebhookCheck CheckWebhook(const HttpHeaders& headers, std::string_view body,
                          std::span<const WebhookSecret> secrets, Timestamp now);

// The ids that have come within twice the tolerance: one that comes again is a repetition, by the
// sender who had no answer or by somebody who listened. Bounded; thread-safe.
class WebhookIds {
 public:
  explicit WebhookIds(std::size_t ids_max = 100'000) : ids_max_(ids_max) {}

  // True: it is new, and known from now on. Ask only for what was signed well.
  bool Add(std::string_view endpoint, std::string_view id, Timestamp now);
  // It could not be handled: the sender may try again.
  void Forget(std::string_view endpoint, std::string_view id);

 private:
  struct Seen {
    std::string key;
    Timestamp until;
  };

  const std::size_t ids_max_;
  std::mutex mutex_;
  std::deque<Seen> seen_;  // oldest first
  std::unordered_set<std::string> keys_;
};

}  // namespace everstep
