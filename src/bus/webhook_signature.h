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

// The key bytes of a "whsec_…" secret.
class WebhookSecret {
 public:
  // Accepts Base64 of 24 to 64 bytes, with or without the prefix; returns nothing otherwise.
  static std::optional<WebhookSecret> Parse(std::string_view text);

  // Returns "v1,<base64>".
  std::string Sign(std::string_view id, std::int64_t seconds, std::string_view body) const;

 private:
  std::string bytes_;
};

inline constexpr std::chrono::seconds kWebhookTolerance{5 * 60};

enum class WebhookVerdict : std::uint8_t {
  kGood,
  kMalformed,     // a header is missing or malformed
  kTooOld,        // signed longer ago than the tolerance
  kTooNew,        // signed further in the future than the tolerance
  kBadSignature,  // no signature matches any of the secrets
};
std::string_view Name(WebhookVerdict verdict);  // human-readable

struct WebhookCheck {
  WebhookVerdict verdict = WebhookVerdict::kMalformed;
  std::string id;  // webhook-id; set if the verdict is kGood
};

// Header names must be in lower case. Several secrets are accepted during rotation. Signatures are
// compared in constant time; neither the result nor the timing reveals how close a wrong one was.
WebhookCheck CheckWebhook(const HttpHeaders& headers, std::string_view body,
                          std::span<const WebhookSecret> secrets, Timestamp now);

// The ids accepted within twice the tolerance. A repeated id is either a retry by a sender that got
// no answer, or a replay attack. Bounded; thread-safe.
class WebhookIds {
 public:
  explicit WebhookIds(std::size_t ids_max = 100'000) : ids_max_(ids_max) {}

  // Returns true if the id is new, and records it. Only call this after the signature was verified.
  bool Add(std::string_view endpoint, std::string_view id, Timestamp now);
  // Handling failed: allows the sender to retry.
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
