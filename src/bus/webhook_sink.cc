#include "bus/webhook_sink.h"

#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "base/sha256.h"
#include "net/retry_after.h"

namespace everstep {
namespace {

constexpr std::size_t kAnswerBytesMax = 1 << 20;
constexpr std::chrono::seconds kSecretsKept{10};

// A batch keeps its id when it is sent again.
std::string IdOf(const std::vector<Message>& batch) {
  if (batch.size() == 1) return batch.front().id;
  std::string ids;
  for (const Message& message : batch) ids.append(message.id).push_back('\n');
  return "batch_" + ToHex(Sha256(ids)).substr(0, 32);
}

class WebhookSink final : public Sink {
 public:
  WebhookSink(const SinkDefinition& sink, HttpClient& client, Clock& clock,
              ReadWebhookSecrets secrets)
      : webhook_(*sink.webhook),
        single_(sink.BatchEvents() == 1),
        batch_type_(sink.cloud_events.empty() ? "application/json"
                                              : "application/cloudevents-batch+json"),
        client_(client),
        clock_(clock),
        read_secrets_(std::move(secrets)) {}

  ~WebhookSink() override {
    std::unique_lock lock(mutex_);
    for (const HttpClient::RequestId id : under_way_) client_.Cancel(id);
    ended_.wait(lock, [this] { return sent_ == answered_; });
  }

  bool takes_whole_batches() const override { return true; }

  void Deliver(std::vector<Message> batch, Done done) override {
    const std::size_t size = batch.size();
    if (const Status known = RefreshSecrets(); !known) {
      return done(std::vector<Outcome>(size, {Verdict::kUnavailable, known.error().message}));
    }
    HttpRequest request = RequestOf(std::move(batch));
    const std::lock_guard lock(mutex_);
    ++sent_;
    // Both sides take the lock, so `id` is set before the answer is processed.
    auto id = std::make_shared<HttpClient::RequestId>(0);
    *id = client_.Send(std::move(request),
                       [this, id, size, done = std::move(done)](const HttpOutcome& answer) {
                         done(std::vector<Outcome>(size, OutcomeOf(answer, clock_.Now())));
                         const std::lock_guard ended(mutex_);
                         under_way_.erase(*id);
                         ++answered_;
                         ended_.notify_all();
                       });
    under_way_.insert(*id);
  }

 private:
  Status RefreshSecrets() {
    const auto now = SteadyNow();
    if (!secrets_.empty() && now < read_at_ + kSecretsKept) return Ok();
    auto secrets = read_secrets_();
    if (!secrets) return secrets_.empty() ? Status(std::move(secrets).error()) : Ok();
    secrets_ = *std::move(secrets);
    read_at_ = now;
    return Ok();
  }

  HttpRequest RequestOf(std::vector<Message> batch) const {
    HttpRequest request;
    request.method = "POST";
    request.url = webhook_.url;
    request.timeout = webhook_.timeout;
    request.connect_timeout = webhook_.timeout;
    request.response_bytes_max = kAnswerBytesMax;
    request.redirects_max = 0;
    request.ca_file = webhook_.ca_file;
    const std::string id = IdOf(batch);
    if (single_ && batch.size() == 1) {
      request.headers = std::move(batch.front().headers);
      request.headers.emplace_back("Content-Type", std::move(batch.front().content_type));
      request.body = std::move(batch.front().body);
    } else {
      request.headers.emplace_back("Content-Type", batch_type_);
      std::size_t bytes = 2;
      for (const Message& message : batch) bytes += message.body.size() + 1;
      request.body.reserve(bytes);
      for (const Message& message : batch) {
        request.body.append(request.body.empty() ? "[" : ",").append(message.body);
      }
      request.body.push_back(']');
    }
    const std::int64_t seconds =
        std::chrono::duration_cast<std::chrono::seconds>(clock_.Now().time_since_epoch()).count();
    std::string signatures;
    for (const WebhookSecret& secret : secrets_) {
      signatures.append(signatures.empty() ? "" : " ")
          .append(secret.Sign(id, seconds, request.body));
    }
    request.headers.emplace_back("webhook-id", id);
    request.headers.emplace_back("webhook-timestamp", std::to_string(seconds));
    request.headers.emplace_back("webhook-signature", std::move(signatures));
    request.headers.emplace_back("User-Agent", "everstep");
    return request;
  }

  const SinkDefinition::Webhook webhook_;
  const bool single_;
  const std::string batch_type_;
  HttpClient& client_;
  Clock& clock_;
  const ReadWebhookSecrets read_secrets_;
  std::vector<WebhookSecret> secrets_;  // used only by the delivering thread
  std::chrono::steady_clock::time_point read_at_{};
  std::mutex mutex_;
  std::condition_variable ended_;
  std::set<HttpClient::RequestId> under_way_;  // guarded by mutex_, as the next two
  std::uint64_t sent_ = 0;
  std::uint64_t answered_ = 0;
};

bool IsPassing(int status) {
  return status == 408 || status == 425 || status == 429 || status == 502 || status == 503 ||
         status == 504;
}

}  // namespace

Outcome OutcomeOf(const HttpOutcome& answer, Timestamp now) {
  if (answer.failure != HttpFailure::kNone) return {Verdict::kUnavailable, answer.message};
  const int status = answer.response.status;
  if (status >= 200 && status < 300) return {Verdict::kDelivered};
  const std::string reason = "HTTP " + std::to_string(status);
  if (status == 410) return {Verdict::kGone, reason};
  if (status >= 300 && status < 400)
    return {Verdict::kRefused, reason + ": redirects are not followed"};
  if (!IsPassing(status)) return {Verdict::kRefused, reason};
  Outcome outcome{Verdict::kUnavailable, reason};
  if (const auto wait = RetryAfter(answer.response.Header("retry-after"), now)) {
    outcome.retry_after = std::min<std::chrono::milliseconds>(*wait, std::chrono::hours(1));
  }
  return outcome;
}

std::unique_ptr<Sink> NewWebhookSink(const SinkDefinition& sink, HttpClient& client, Clock& clock,
                                     ReadWebhookSecrets secrets) {
  return std::make_unique<WebhookSink>(sink, client, clock, std::move(secrets));
}

}  // namespace everstep
