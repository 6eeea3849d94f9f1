#include "bus/sink_definition.h"

#include <algorithm>
#include <array>

#include "bus/topic_template.h"
#include "event/catalogue.h"
#include "event/identifier.h"
#include "flow/document.h"
#include "flow/nearest.h"
#include "flow/template.h"
#include "wire/wire.h"

namespace everstep {
namespace {

constexpr std::size_t kDefinitionBytesMax = 64 << 10;
constexpr std::size_t kItemsMax = 100;
constexpr std::string_view kKinds[] = {"webhook", "nats", "file"};
constexpr std::string_view kFroms[] = {"now", "beginning"};
constexpr std::string_view kLater[] = {"hold", "pass"};
constexpr std::string_view kForms[] = {"structured", "binary", "batch"};
constexpr std::string_view kDialects[] = {"native", "contract", "devkit", "noetl", "elephant"};

class Checker {
 public:
  Checker(const SinkDefinition& sink, const SinkRules& rules, std::vector<Fault>& faults)
      : sink_(sink), rules_(rules), faults_(faults) {}

  void Check() {
    if (!IsIdentifier(sink_.sink_id)) {
      Fault("/sinkId", "must be 1 to 128 of A-Z a-z 0-9 . _ : - and begin with a letter or digit");
    }
    Word("/kind", sink_.kind, kKinds);
    Word("/from", sink_.from, kFroms);
    Word("/dialect", sink_.dialect, kDialects);
    if (!sink_.cloud_events.empty()) Word("/cloudEvents", sink_.cloud_events, kForms);
    CheckKind();
    CheckFilter();
    CheckDelivery();
    if (const auto fault = TopicTemplate::FaultOf(sink_.topic)) Fault("/topic", *fault);
    Few("/redact", sink_.redact);
    for (std::size_t i = 0; i < sink_.redact.size(); ++i) CheckPointer(i);
    if (sink_.payload_bytes < 1'000) Fault("/payloadBytes", "must be at least 1000");
  }

 private:
  void Fault(std::string pointer, std::string message) {
    faults_.push_back({std::move(pointer), std::move(message)});
  }
  void Word(const char* pointer, const std::string& word, std::span<const std::string_view> words) {
    if (std::ranges::find(words, word) != words.end()) return;
    std::string all;
    for (const std::string_view known : words) all.append(all.empty() ? "" : ", ").append(known);
    Fault(pointer, "must be one of " + all + DidYouMean(word, {words.begin(), words.end()}));
  }
  void Few(const char* pointer, const std::vector<std::string>& items) {
    if (items.size() > kItemsMax) Fault(pointer, "has more than 100 items");
  }
  bool tenant() const { return rules_.owner == SinkOwner::kTenant; }
  void NotForTenants(const char* pointer, bool given) {
    if (tenant() && given) Fault(pointer, "is only allowed for sinks in the server's settings");
  }

  void CheckKind() {
    const auto only = [&](const char* pointer, bool given, std::string_view kind) {
      if (given == (sink_.kind == kind)) return;
      Fault(pointer, given ? "belongs to a sink of kind " + std::string(kind) : "is required");
    };
    only("/webhook", sink_.webhook.has_value(), "webhook");
    only("/nats", sink_.nats.has_value(), "nats");
    if (sink_.file && sink_.kind != "file") Fault("/file", "belongs to a sink of kind file");
    if (sink_.webhook) CheckWebhook(*sink_.webhook);
    if (sink_.nats) CheckNats(*sink_.nats);
    if (sink_.file) {
      NotForTenants("/file/directory", !sink_.file->directory.empty());
      if (sink_.file->rotate_bytes < 4096) Fault("/file/rotateBytes", "must be at least 4096");
    }
    if (sink_.cloud_events == "batch" && sink_.kind != "webhook") {
      Fault("/cloudEvents", "batch is only supported by webhooks; use structured");
    }
    if (sink_.cloud_events == "binary" && sink_.kind == "file") {
      Fault("/cloudEvents", "a line of a file has no headers; use structured");
    }
  }

  void CheckWebhook(const SinkDefinition::Webhook& webhook) {
    if (!webhook.url.starts_with("http://") && !webhook.url.starts_with("https://")) {
      Fault("/webhook/url", "must begin with https:// or http://");
    }
    if (webhook.url.find('@') < webhook.url.find('/', 8)) {
      Fault("/webhook/url", "must not contain a password");
    }
    if (webhook.secrets.empty()) Fault("/webhook/secrets", "must name at least one");
    if (webhook.secrets.size() > 4) Fault("/webhook/secrets", "has more than 4 items");
    for (std::size_t i = 0; i < webhook.secrets.size(); ++i) {
      const std::string& secret = webhook.secrets[i];
      const bool stored = secret.starts_with("secret:") && secret.size() > 7;
      const bool variable = !tenant() && secret.starts_with("env:") && secret.size() > 4;
      if (stored || variable) continue;
      Fault("/webhook/secrets/" + std::to_string(i),
            "must be secret:KEY, the name of a stored secret, not the secret itself");
    }
    CheckTimeout("/webhook/timeoutMs", webhook.timeout);
    NotForTenants("/webhook/caFile", !webhook.ca_file.empty());
  }

  void CheckNats(const SinkDefinition::Nats& nats) {
    if (nats.servers.empty()) Fault("/nats/servers", "must name at least one");
    Few("/nats/servers", nats.servers);
    for (std::size_t i = 0; i < nats.servers.size(); ++i) {
      const std::string& server = nats.servers[i];
      const std::string pointer = "/nats/servers/" + std::to_string(i);
      if (!server.starts_with("nats://") && !server.starts_with("tls://")) {
        Fault(pointer, "must begin with nats:// or tls://");
      } else if (server.find('@') != std::string::npos) {
        Fault(pointer, "must not contain a password; use credentials");
      } else if (tenant() && !rules_.private_addresses &&
                 std::ranges::find(rules_.brokers, server) == rules_.brokers.end()) {
        Fault(pointer, "is not listed in the setting sinks.brokers");
      }
    }
    NotForTenants("/nats/credentials", !nats.credentials.empty());
    NotForTenants("/nats/caFile", !nats.ca_file.empty());
    CheckTimeout("/nats/timeoutMs", nats.timeout);
  }

  void CheckTimeout(const char* pointer, std::chrono::milliseconds timeout) {
    if (timeout.count() < 10 || timeout > std::chrono::minutes(5)) {
      Fault(pointer, "must be 10 to 300000");
    }
  }

  void CheckFilter() {
    const SinkDefinition::Filter& filter = sink_.filter;
    NotForTenants("/filter/tenants", !filter.tenants.empty());
    Few("/filter/tenants", filter.tenants);
    Few("/filter/plans", filter.plans);
    for (std::size_t i = 0; i < filter.types.size(); ++i) {
      if (EventTypeNamed(filter.types[i])) continue;
      std::vector<std::string_view> names;
      for (const EventSpec& spec : Catalogue()) names.push_back(spec.name);
      Fault("/filter/types/" + std::to_string(i),
            "is not an event type" + DidYouMean(filter.types[i], names));
    }
    for (std::size_t i = 0; i < filter.entities.size(); ++i) {
      if (EntityKindNamed(filter.entities[i])) continue;
      Fault("/filter/entities/" + std::to_string(i), "is not a kind of entity");
    }
    if (filter.when.empty()) return;
    std::vector<Template::Fault> found;
    if (!Template::Condition(filter.when, &found)) {
      Fault("/filter/when", found.empty() ? "is not an expression" : found.front().message);
    }
  }

  void CheckPointer(std::size_t index) {
    const std::string& text = sink_.redact[index];
    if (text == "/errorMessage" || text == "/token") return;
    if (text.starts_with("/payload/") || text.starts_with("/attributes/")) return;
    Fault("/redact/" + std::to_string(index),
          "must begin with /payload/ or /attributes/, or be /errorMessage or /token");
  }

  void CheckDelivery() {
    const SinkDefinition::Delivery& delivery = sink_.delivery;
    const auto range = [&](const char* name, std::uint64_t value, std::uint64_t min,
                           std::uint64_t max) {
      if (value >= min && value <= max) return;
      Fault("/delivery/" + std::string(name),
            "must be " + std::to_string(min) + " to " + std::to_string(max));
    };
    constexpr std::uint64_t kDay = 24ULL * 3600 * 1000;
    range("attempts", delivery.attempts, 1, 1'000);
    range("backoffInitialMs", static_cast<std::uint64_t>(delivery.backoff_initial.count()), 1,
          kDay);
    range("backoffMaxMs", static_cast<std::uint64_t>(delivery.backoff_max.count()), 1, kDay);
    range("batchBytes", delivery.batch_bytes, 1'000, 16 << 20);
    range("inFlight", delivery.in_flight, 1, 64);
    range("deadLetters", delivery.dead_letters, 1, 1'000'000);
    if (delivery.batch != 0) range("batch", delivery.batch, 1, 10'000);
    if (delivery.batch > 1 && sink_.kind == "webhook" &&
        (sink_.cloud_events == "structured" || sink_.cloud_events == "binary")) {
      Fault("/delivery/batch", "a request holds only one such CloudEvent; use cloudEvents: batch");
    }
    Word("/delivery/laterEvents", delivery.later_events, kLater);
  }

  const SinkDefinition& sink_;
  const SinkRules& rules_;
  std::vector<everstep::Fault>& faults_;
};

}  // namespace

std::uint32_t SinkDefinition::BatchEvents() const {
  if (kind == "webhook" && (cloud_events == "structured" || cloud_events == "binary")) return 1;
  if (delivery.batch != 0) return delivery.batch;
  return kind == "webhook" ? 100 : 500;
}

DeliveryPolicy SinkDefinition::Policy() const {
  DeliveryPolicy policy;
  policy.attempts_max = delivery.attempts;
  policy.backoff_initial = delivery.backoff_initial;
  policy.backoff_max = std::max(delivery.backoff_max, delivery.backoff_initial);
  policy.later = delivery.later_events == "pass" ? LaterEvents::kPass : LaterEvents::kHold;
  policy.batch_events_max = BatchEvents();
  policy.batch_bytes_max = delivery.batch_bytes;
  // With two writers the lines of a file would get out of order.
  policy.in_flight_max = kind == "file" ? 1 : delivery.in_flight;
  return policy;
}

Result<SinkDefinition> ReadSinkDefinition(std::string_view text, const std::string& sink_id,
                                          const SinkRules& rules) {
  const auto document = ParseDocument(text, kDefinitionBytesMax);
  if (!document || !document->faults.empty()) {
    Error error{ErrorCode::kInvalidJson, "cannot parse the sink definition", {}};
    error.faults = document ? document->faults : document.error().faults;
    return error;
  }
  auto sink = FromWire<SinkDefinition>(ToJson(ToValue(document->root)), UnknownMembers::kRefuse);
  if (!sink) return sink;
  if (sink->sink_id.empty()) sink->sink_id = sink_id;
  Error error{ErrorCode::kSchemaValidationFailed, "invalid sink definition", {}};
  if (!sink_id.empty() && sink->sink_id != sink_id) {
    error.faults.push_back({"/sinkId", "must be " + sink_id + ", or left out"});
  }
  Checker(*sink, rules, error.faults).Check();
  if (!error.faults.empty()) return error;
  return sink;
}

std::string SinkDefinitionJson(const SinkDefinition& sink) { return ToWire(sink); }

}  // namespace everstep
