#include "event/cloud_event.h"

#include <array>
#include <cstdio>

#include "base/json.h"
#include "event/catalogue.h"
#include "event/dialects.h"

namespace everstep {

CloudEventAttributes CloudEventAttributesOf(const RunIdentity& run, const Event& event) {
  // Twenty digits fit any sequence number, and zero padding makes the text sort like the number.
  std::array<char, 24> sequence{};
  std::snprintf(sequence.data(), sequence.size(), "%020llu",
                static_cast<unsigned long long>(event.seq.value()));
  const std::string& tenant = run.scope.tenant_id;
  CloudEventAttributes attributes = {
      {"specversion", "1.0"},
      {"id", event.event_id},
      {"source", "/tenants/" + tenant + "/runs/" + run.run_id.value()},
      {"type", "dev.everstep." + std::string(SpecOf(event.type).name)}};
  if (!event.entity_id.empty()) attributes.emplace_back("subject", event.entity_id);
  attributes.emplace_back("time", FormatTimestamp(event.persisted_at));
  attributes.emplace_back("datacontenttype", "application/json");
  attributes.emplace_back("runid", run.run_id.value());
  attributes.emplace_back("runseq", sequence.data());
  if (!tenant.empty()) attributes.emplace_back("tenantid", tenant);
  return attributes;
}

std::string StructuredCloudEvent(const CloudEventAttributes& attributes, std::string_view data) {
  std::string text;
  JsonWriter writer(text);
  writer.BeginObject();
  for (const auto& [name, value] : attributes) writer.Member(name, value);
  writer.RawMember("data", data);
  writer.EndObject();
  return text;
}

void RenderCloudEvent(const RunIdentity& run, const Event& event, std::vector<std::string>& out) {
  std::vector<std::string> native;
  NativeVocabulary().Render(run, event, native);
  for (const std::string& data : native) {
    out.push_back(StructuredCloudEvent(CloudEventAttributesOf(run, event), data));
  }
}

}  // namespace everstep
