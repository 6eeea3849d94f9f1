#include "flow/plan_draft.h"

namespace everstep {

bool IsSimpleName(std::string_view text) {
  if (text.empty() || text.size() > 100 || (text[0] >= '0' && text[0] <= '9')) return false;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && c != '_') return false;
  }
  return true;
}

Template TemplateReader::Read(const Place& place, TemplateRole role) {
  std::vector<Template::Fault> template_faults;
  auto compiled = Template::Compile(ToValue(*place.node), &template_faults);
  return Keep(std::move(compiled), template_faults, place, role);
}

Template TemplateReader::ReadCondition(const Place& place, TemplateRole role) {
  if (!place.node->is_text()) return Read(place, role);
  std::vector<Template::Fault> template_faults;
  auto compiled = Template::Condition(place.node->text(), &template_faults);
  return Keep(std::move(compiled), template_faults, place, role);
}

void TemplateReader::ReadMember(const MapReader& map, std::string_view key, TemplateRole role,
                                Template& field) {
  const auto found = map.Find(key);
  if (found) field = Read(*found, role);
}

void TemplateReader::ReadMap(const MapReader& map, std::string_view key, TemplateRole role,
                             Template& field) {
  const auto found = map.Find(key);
  if (!found) return;
  if (!found->node->is_map()) return FaultKind(*found, "a map", faults_);
  field = Read(*found, role);
}

Template TemplateReader::Keep(Result<Template> compiled,
                              const std::vector<Template::Fault>& template_faults,
                              const Place& place, TemplateRole role) {
  if (!compiled) {
    for (const Template::Fault& fault : template_faults) {
      // Stop locating faults once enough are reported: locating all of them would be quadratic.
      if (faults_.full()) {
        faults_.Add(place, {});
        continue;
      }
      faults_.AddInText(NodeAt(*place.node, fault.pointer), place.Pointer() + fault.pointer,
                        fault.offset, fault.message);
    }
    if (template_faults.empty()) faults_.Add(place, compiled.error().message);
    return {};
  }
  if (!compiled->paths().empty()) {
    draft_.uses.push_back(TemplateUse{*compiled, place.node, place.Pointer(), step_, role});
  }
  return std::move(*compiled);
}

}  // namespace everstep
