#include "bus/webhook_signature.h"

#include <algorithm>
#include <charconv>

#include "base/encoding.h"
#include "base/hmac.h"

namespace everstep {
namespace {

constexpr std::string_view kPrefix = "whsec_";
constexpr std::string_view kScheme = "v1,";
constexpr std::size_t kIdBytesMax = 256;
constexpr std::size_t kSignaturesMax = 16;

// Returns the only header of that name; empty if there is none or more than one.
std::string_view Only(const HttpHeaders& headers, std::string_view name) {
  std::string_view found;
  int count = 0;
  for (const auto& [key, value] : headers) {
    if (key != name) continue;
    found = value;
    ++count;
  }
  return count == 1 ? found : std::string_view();
}

bool IsId(std::string_view id) {
  return !id.empty() && id.size() <= kIdBytesMax &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

std::optional<std::int64_t> SecondsOf(std::string_view text) {
  std::int64_t seconds = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, seconds);
  // The end of the year 9999: beyond any real date and far from overflow.
  if (read.ec != std::errc() || read.ptr != end || seconds < 0 || seconds > 253'402'300'799) {
    return std::nullopt;
  }
  return seconds;
}

std::string KeyOf(std::string_view endpoint, std::string_view id) {
  return std::string(endpoint) + "\n" + std::string(id);
}

}  // namespace

std::optional<WebhookSecret> WebhookSecret::Parse(std::string_view text) {
  if (text.starts_with(kPrefix)) text.remove_prefix(kPrefix.size());
  auto bytes = FromBase64(text);
  if (!bytes || bytes->size() < 24 || bytes->size() > 64) return std::nullopt;
  WebhookSecret secret;
  secret.bytes_ = *std::move(bytes);
  return secret;
}

std::string WebhookSecret::Sign(std::string_view id, std::int64_t seconds,
                                std::string_view body) const {
  std::string text;
  text.reserve(id.size() + body.size() + 24);
  text.append(id).append(".").append(std::to_string(seconds)).append(".").append(body);
  const Sha256Digest digest = HmacSha256(bytes_, text);
  const std::string_view bytes(reinterpret_cast<const char*>(digest.data()), digest.size());
  return std::string(kScheme) + Base64(bytes);
}

std::string_view Name(WebhookVerdict verdict) {
  switch (verdict) {
    case WebhookVerdict::kGood:
      return "good";
    case WebhookVerdict::kMalformed:
      return "webhook-id, webhook-timestamp or webhook-signature is missing or malformed";
    case WebhookVerdict::kTooOld:
      return "webhook-timestamp is too old";
    case WebhookVerdict::kTooNew:
      return "webhook-timestamp is in the future";
    case WebhookVerdict::kBadSignature:
      break;
  }
  return "no signature matches";
}

WebhookCheck CheckWebhook(const HttpHeaders& headers, std::string_view body,
                          std::span<const WebhookSecret> secrets, Timestamp now) {
  const std::string_view id = Only(headers, "webhook-id");
  const auto seconds = SecondsOf(Only(headers, "webhook-timestamp"));
  std::string_view signatures = Only(headers, "webhook-signature");
  if (!IsId(id) || !seconds || signatures.empty()) return {WebhookVerdict::kMalformed, {}};
  const Timestamp signed_at{std::chrono::seconds(*seconds)};
  if (signed_at + kWebhookTolerance < now) return {WebhookVerdict::kTooOld, {}};
  if (signed_at > now + kWebhookTolerance) return {WebhookVerdict::kTooNew, {}};
  bool good = false;
  for (std::size_t i = 0; i < kSignaturesMax && !signatures.empty(); ++i) {
    const std::size_t end = std::min(signatures.find(' '), signatures.size());
    const std::string_view signature = signatures.substr(0, end);
    signatures.remove_prefix(std::min(end + 1, signatures.size()));
    if (!signature.starts_with(kScheme)) continue;
    for (const WebhookSecret& secret : secrets) {
      good |= EqualInConstantTime(secret.Sign(id, *seconds, body), signature);
    }
  }
  if (!good) return {WebhookVerdict::kBadSignature, {}};
  return {WebhookVerdict::kGood, std::string(id)};
}

bool WebhookIds::Add(std::string_view endpoint, std::string_view id, Timestamp now) {
  const std::lock_guard lock(mutex_);
  while (!seen_.empty() && (seen_.front().until <= now || seen_.size() >= ids_max_)) {
    keys_.erase(seen_.front().key);
    seen_.pop_front();
  }
  std::string key = KeyOf(endpoint, id);
  if (!keys_.insert(key).second) return false;
  seen_.push_back({std::move(key), now + 2 * kWebhookTolerance});
  return true;
}

void WebhookIds::Forget(std::string_view endpoint, std::string_view id) {
  const std::lock_guard lock(mutex_);
  const std::string key = KeyOf(endpoint, id);
  if (keys_.erase(key) == 0) return;
  // Otherwise the stale entry would later evict a new id of the same name.
  const auto found =
      std::find_if(seen_.rbegin(), seen_.rend(), [&](const Seen& seen) { return seen.key == key; });
  if (found != seen_.rend()) seen_.erase(std::next(found).base());
}

}  // namespace everstep
