#include "queue/http_courier.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/hmac.h"
#include "base/json.h"
#include "base/sha256.h"

namespace everstep {
namespace {

// Practically no timeout: a slow delivery must not be repeated, and a peer that is gone is detected
// by its connection.
constexpr std::chrono::hours kAnswerWithin{24 * 365};
constexpr std::chrono::milliseconds kConnectWithin{5'000};
constexpr std::size_t kAnswerBytesMax = 64 << 10;
constexpr double kSecondsMax = 366.0 * 86'400;

using Kind = DeliveryOutcome::Kind;

std::string Sign(const MessageCourier::Delivery& delivery, const std::string& at,
                 const std::string& attempt) {
  std::string text = at;
  text.append(".").append(delivery.head.topic).append(".").append(delivery.head.id);
  text.append(".").append(attempt).append(".").append(delivery.content.body);
  return ToHex(HmacSha256(delivery.secret, text));
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Headers that frame the request or describe the delivery. The sender of a message cannot set them.
bool IsOurs(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), Lower);
  constexpr std::array<std::string_view, 9> kFraming = {
      "connection", "content-length", "content-type",      "expect", "host",
      "te",         "trailer",        "transfer-encoding", "upgrade"};
  return lower.starts_with("everstep-") || std::ranges::find(kFraming, lower) != kFraming.end();
}

}  // namespace

HttpCourier::HttpCourier(Clock& clock, bool allow_private)
    : clock_(clock),
      near_({.allow_private = allow_private, .allow_loopback = true}),
      far_({.allow_private = allow_private}) {}

void HttpCourier::Deliver(Delivery delivery, std::function<void(DeliveryOutcome)> done) {
  const std::string at = std::to_string(
      std::chrono::floor<std::chrono::seconds>(clock_.Now().time_since_epoch()).count());
  const std::string attempt = std::to_string(delivery.head.attempt);
  HttpRequest request;
  request.method = "POST";
  request.url = delivery.url;
  for (auto& header : delivery.content.headers) {
    if (!IsOurs(header.first)) request.headers.push_back(std::move(header));
  }
  request.headers.emplace_back("Content-Type", "application/json");
  request.headers.emplace_back("everstep-queue", delivery.head.topic);
  request.headers.emplace_back("everstep-message-id", delivery.head.id);
  request.headers.emplace_back("everstep-attempt", attempt);
  request.headers.emplace_back("everstep-signature",
                               "t=" + at + ",v1=" + Sign(delivery, at, attempt));
  request.timeout = kAnswerWithin;
  request.connect_timeout = kConnectWithin;
  request.response_bytes_max = kAnswerBytesMax;
  request.redirects_max = 0;
  HttpClient& client = delivery.on_this_machine ? near_ : far_;
  request.body = std::move(delivery.content.body);
  (void)client.Send(std::move(request), [done = std::move(done)](const HttpOutcome& outcome) {
    done(OutcomeOf(outcome));
  });
}

DeliveryOutcome OutcomeOf(const HttpOutcome& outcome) {
  switch (outcome.failure) {
    case HttpFailure::kNone:
      break;
    case HttpFailure::kConnect:
    case HttpFailure::kTimeout:
      return {outcome.connected ? Kind::kBroken : Kind::kNotTaken, {}, outcome.message};
    case HttpFailure::kDns:
    case HttpFailure::kTls:
    case HttpFailure::kAddressNotAllowed:
      return {Kind::kNotTaken, {}, outcome.message};
    default:
      return {Kind::kFailed, {}, outcome.message};
  }
  const HttpResponse& response = outcome.response;
  if (response.status < 200 || response.status > 299) {
    // Do not include the body: senders of messages must not be able to read responses from
    // arbitrary addresses.
    return {Kind::kFailed, {}, "the application answered HTTP " + std::to_string(response.status)};
  }
  if (!CanonicalJson(response.body)) return {};
  const auto seconds = RawMember(response.body, "timeoutSeconds");
  if (!seconds) return {};
  double value = 0;
  const auto read = std::from_chars(seconds->data(), seconds->data() + seconds->size(), value);
  if (read.ec != std::errc() || !std::isfinite(value) || value < 0) return {};
  const double millis = std::min(value, kSecondsMax) * 1e3;
  return {Kind::kAgain, std::chrono::milliseconds(std::llround(millis)), {}};
}

}  // namespace everstep
