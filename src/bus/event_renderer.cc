#include "bus/event_renderer.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/json.h"
#include "bus/event_name.h"
#include "bus/redaction.h"
#include "engine/event_view.h"
#include "event/catalogue.h"
#include "event/cloud_event.h"

namespace everstep {
namespace {

// The member that holds the event's name in documents of the dialect.
std::string_view TypeMember(Dialect dialect) {
  switch (dialect) {
    case Dialect::kNoetl:
      return "event_type";
    case Dialect::kElephant:
      return "detail-type";
    default:
      return "eventType";
  }
}

std::string TypeOf(Dialect dialect, const Event& event, std::string_view document) {
  auto text = RawMember(document, TypeMember(dialect));
  if (!text || text->size() < 2) return std::string(SpecOf(event.type).name);
  return std::string(text->substr(1, text->size() - 2));
}

std::string TopicOf(const SinkDefinition& sink) {
  if (!sink.topic.empty()) return sink.topic;
  return sink.dialect == "noetl" ? "noetl.events.{type}" : "everstep.events.{type}";
}

}  // namespace

EventRenderer::EventRenderer(const SinkDefinition& sink, std::string tenant_id, KeepPayload keep)
    : tenant_id_(std::move(tenant_id)),
      keep_(std::move(keep)),
      tenants_(sink.filter.tenants.begin(), sink.filter.tenants.end()),
      plans_(sink.filter.plans.begin(), sink.filter.plans.end()),
      dialect_(*DialectNamed(sink.dialect)),
      cloud_events_(sink.cloud_events),
      with_topic_headers_(sink.kind == "nats"),
      topic_(TopicOf(sink)),
      payload_bytes_max_(sink.payload_bytes) {
  const auto& [filter_tenants, filter_plans, entities, types, when] = sink.filter;
  all_types_ = entities.empty() && types.empty();
  for (const EventSpec& spec : Catalogue()) {
    const bool entity = entities.empty() || std::ranges::count(entities, Name(spec.entity)) > 0;
    const bool type = types.empty() || std::ranges::count(types, spec.name) > 0;
    if (entity && type) types_.insert(spec.type);
  }
  if (!when.empty()) when_ = *Template::Condition(when);
  for (const std::string& pointer : sink.redact) {
    hide_error_ = hide_error_ || pointer == "/errorMessage";
    hide_token_ = hide_token_ || pointer == "/token";
    if (pointer.starts_with("/payload/")) payload_pointers_.push_back(PointerParts(pointer));
    if (pointer.starts_with("/attributes/")) attribute_pointers_.push_back(PointerParts(pointer));
  }
}

bool EventRenderer::IsWanted(const StoredRun& run, const Event& event) const {
  const RunScope& scope = run.state.scope;
  return IsKnown(event.type) && (tenant_id_.empty() || tenant_id_ == scope.tenant_id) &&
         (tenants_.empty() || tenants_.contains(scope.tenant_id)) &&
         (plans_.empty() || plans_.contains(scope.plan_id)) &&
         (all_types_ || types_.contains(event.type));
}

Result<bool> EventRenderer::Passes(const StoredRun& run, const Event& event) const {
  std::vector<std::string> native;
  RenderEvent(Dialect::kNative, IdentityOf(run), event, native);
  auto document = ValueFromJson(native.front());
  if (!document) return std::move(document).error();
  const auto answer = when_.Render(EventName(*std::move(document)));
  if (!answer) return answer.error();
  return IsTrue(*answer);
}

Status EventRenderer::Prepare(const StoredRun& run, Event& event) const {
  if (hide_error_ && !event.facts.error_message.empty()) event.facts.error_message = "[redacted]";
  if (hide_token_ && !event.facts.token.empty()) event.facts.token = "[redacted]";
  const auto redact = [](std::string& json, const std::vector<std::vector<std::string>>& pointers) {
    if (pointers.empty() || json.empty()) return Ok();
    auto redacted = Redact(json, pointers);
    if (!redacted) return Status(std::move(redacted).error());
    json = *std::move(redacted);
    return Ok();
  };
  if (const Status done = redact(event.payload, payload_pointers_); !done) return done;
  if (const Status done = redact(event.attributes, attribute_pointers_); !done) return done;
  if (event.payload.size() <= payload_bytes_max_) return Ok();
  auto kept = keep_(run.state.scope.tenant_id, event.payload);
  if (!kept) return std::move(kept).error();
  event.payload = *std::move(kept);
  return Ok();
}

bool EventRenderer::Render(const StoredRun& run, const Event& event, QueuedEvent& out) const {
  if (!IsWanted(run, event)) return false;
  out.run_id = run.run_id;
  out.seq = event.seq;
  out.type = event.type;
  out.persisted_at = event.persisted_at;
  out.messages.clear();
  out.fault.clear();
  out.bytes = 0;
  if (!when_.empty()) {
    const auto passes = Passes(run, event);
    if (!passes) out.fault = "the filter failed: " + passes.error().message;
    if (!passes) return true;
    if (!*passes) return false;
  }
  const bool as_it_is = payload_pointers_.empty() && attribute_pointers_.empty() && !hide_error_ &&
                        !hide_token_ && event.payload.size() <= payload_bytes_max_;
  std::vector<std::string> documents;
  if (as_it_is) {
    RenderEvent(dialect_, IdentityOf(run), event, documents);
  } else {
    Event changed = event;
    if (const Status prepared = Prepare(run, changed); !prepared) {
      out.fault = "cannot prepare the event: " + prepared.error().message;
      return true;
    }
    RenderEvent(dialect_, IdentityOf(run), changed, documents);
  }
  if (documents.empty()) return false;  // the dialect cannot express it
  for (std::size_t i = 0; i < documents.size(); ++i) {
    out.messages.push_back(MessageOf(run, event, std::move(documents[i]), i));
    out.bytes += out.messages.back().body.size();
  }
  return true;
}

Message EventRenderer::MessageOf(const StoredRun& run, const Event& event, std::string document,
                                 std::size_t index) const {
  Message message;
  message.id = event.event_id + (index == 0 ? "" : "-" + std::to_string(index + 1));
  message.topic = topic_.Render(run.state.scope, run.run_id, TypeOf(dialect_, event, document));
  message.content_type = "application/json";
  if (with_topic_headers_) {
    message.headers = {{"execution_id", run.run_id.value()},
                       {"tenant_id", run.state.scope.tenant_id},
                       {"event_type", std::string(SpecOf(event.type).name)},
                       {"run_seq", std::to_string(event.seq.value())}};
  }
  if (cloud_events_.empty()) {
    message.body = std::move(document);
    return message;
  }
  CloudEventAttributes attributes = CloudEventAttributesOf(IdentityOf(run), event);
  for (auto& [name, value] : attributes) {
    if (name == "id") value = message.id;
  }
  if (cloud_events_ != "binary") {
    message.content_type = "application/cloudevents+json";
    message.body = StructuredCloudEvent(attributes, document);
    return message;
  }
  for (auto& [name, value] : attributes) {
    if (name != "datacontenttype") message.headers.emplace_back("ce-" + name, std::move(value));
  }
  message.body = std::move(document);
  return message;
}

}  // namespace everstep
