#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bus/delivery_policy.h"
#include "everstep/result.h"

namespace everstep {

// A sink as configured by an operator or tenant (docs/sinks.md).
struct SinkDefinition {
  std::string sink_id;
  std::string kind;          // webhook, nats, file
  std::string from = "now";  // or "beginning": where a new sink starts

  struct Webhook {
    std::string url;
    std::vector<std::string> secrets;  // "secret:KEY" or "env:NAME"; each one signs
    std::chrono::milliseconds timeout{15'000};
    std::string ca_file;
  };
  struct Nats {
    std::vector<std::string> servers;
    std::string credentials;  // path of a file
    std::string ca_file;
    std::chrono::milliseconds timeout{5'000};
  };
  struct File {
    std::string directory;  // only for the server's own sinks; empty: in the data directory
    std::uint64_t rotate_bytes = 64 << 20;
    std::uint64_t keep = 0;  // rotated files; zero for all
  };
  struct Filter {
    std::vector<std::string> tenants;   // only for the server's own sinks; empty: any, as below
    std::vector<std::string> plans;     // plan ids
    std::vector<std::string> entities;  // run, step, hook …
    std::vector<std::string> types;     // native names
    std::string when;                   // an expression over `event`
  };
  struct Delivery {
    std::uint32_t attempts = 12;
    std::chrono::milliseconds backoff_initial{500};
    std::chrono::milliseconds backoff_max{5 * 60'000};
    std::string later_events = "hold";  // or "pass"
    std::uint32_t batch = 0;            // events; zero for the default of the kind
    std::uint64_t batch_bytes = 1 << 20;
    std::uint32_t in_flight = 4;
    std::uint64_t dead_letters = 100'000;  // once reached, the sink stops
  };

  std::optional<Webhook> webhook;
  std::optional<Nats> nats;
  std::optional<File> file;
  std::string dialect = "native";
  std::string cloud_events;  // structured, binary, batch; empty: the plain document
  std::string topic;         // default: noetl.events.{type} or everstep.events.{type}
  Filter filter;
  std::vector<std::string> redact;          // JSON pointers; "*" is every member or item
  std::uint64_t payload_bytes = 256 << 10;  // a larger payload becomes an artifact
  Delivery delivery;

  DeliveryPolicy Policy() const;
  std::uint32_t BatchEvents() const;
};

template <typename F>
void Describe(F& f, SinkDefinition::Webhook& webhook) {
  f.Required("url", webhook.url);
  f.Required("secrets", webhook.secrets);
  f("timeoutMs", webhook.timeout);
  f("caFile", webhook.ca_file);
}
template <typename F>
void Describe(F& f, SinkDefinition::Nats& nats) {
  f.Required("servers", nats.servers);
  f("credentials", nats.credentials);
  f("caFile", nats.ca_file);
  f("timeoutMs", nats.timeout);
}
template <typename F>
void Describe(F& f, SinkDefinition::File& file) {
  f("directory", file.directory);
  f("rotateBytes", file.rotate_bytes);
  f("keep", file.keep);
}
template <typename F>
void Describe(F& f, SinkDefinition::Filter& filter) {
  f("tenants", filter.tenants);
  f("plans", filter.plans);
  f("entities", filter.entities);
  f("types", filter.types);
  f("when", filter.when);
}
template <typename F>
void Describe(F& f, SinkDefinition::Delivery& delivery) {
  f("attempts", delivery.attempts);
  f("backoffInitialMs", delivery.backoff_initial);
  f("backoffMaxMs", delivery.backoff_max);
  f("laterEvents", delivery.later_events);
  f("batch", delivery.batch);
  f("batchBytes", delivery.batch_bytes);
  f("inFlight", delivery.in_flight);
  f("deadLetters", delivery.dead_letters);
}
template <typename F>
void Describe(F& f, SinkDefinition& sink) {
  f("sinkId", sink.sink_id);
  f.Required("kind", sink.kind);
  f("from", sink.from);
  f("webhook", sink.webhook);
  f("nats", sink.nats);
  f("file", sink.file);
  f("dialect", sink.dialect);
  f("cloudEvents", sink.cloud_events);
  f("topic", sink.topic);
  f("filter", sink.filter);
  f("redact", sink.redact);
  f("payloadBytes", sink.payload_bytes);
  f("delivery", sink.delivery);
}

// Who defined the sink: a tenant may refer to less than the operator of the server.
enum class SinkOwner : std::uint8_t { kTenant, kServer };

struct SinkRules {
  SinkOwner owner = SinkOwner::kTenant;
  bool private_addresses = false;      // tenants may use any NATS server
  std::vector<std::string> brokers{};  // NATS servers that tenants may use
};

// Parses YAML or JSON and validates all of it. kInvalidJson, kSchemaValidationFailed with every
// fault and its pointer. `sink_id` is the expected name; if it is empty, the text must contain one.
Result<SinkDefinition> ReadSinkDefinition(std::string_view text, const std::string& sink_id,
                                          const SinkRules& rules);

// The form in which it is stored and shown.
std::string SinkDefinitionJson(const SinkDefinition& sink);

}  // namespace everstep
