#include <cstdio>

#include "base/json.h"
#include "event/catalogue.h"
#include "event/dialects.h"

namespace everstep {

void RenderCloudEvent(const RunIdentity& run, const Event& event, std::vector<std::string>& out) {
  std::vector<std::string> native;
  NativeVocabulary().Render(run, event, native);
  // Twenty digits hold any sequence number, and as text they sort as numbers do.
  std::array<char, 24> sequence{};
  std::snprintf(sequence.data(), sequence.size(), "%020llu",
                static_cast<unsigned long long>(event.seq.value()));
  const std::string& tenant = run.scope.tenant_id;
  JsonWriter writer(out.emplace_back());
  writer.BeginObject();
  writer.Member("specversion", "1.0");
  writer.Member("id", event.event_id);
  writer.Member("source", "/tenants/" + tenant + "/runs/" + run.run_id.value());
  writer.Member("type", "dev.everstep." + std::string(SpecOf(event.type).name));
  if (!event.entity_id.empty()) writer.Member("subject", event.entity_id);
  writer.Member("time", FormatTimestamp(event.persisted_at));
  writer.Member("datacontenttype", "application/json");
  writer.Member("runid", run.run_id.value());
  writer.Member("runseq", sequence.data());
  if (!tenant.empty()) writer.Member("tenantid", tenant);
  for (const std::string& data : native) writer.RawMember("data", data);
  writer.EndObject();
}

}  // namespace everstep
