// Renders events as Elephant's EventBridge documents.

#include <algorithm>

#include "base/json.h"
#include "event/catalogue.h"
#include "event/dialects.h"
#include "event/elephant_table.h"
#include "event/slot_show.h"

namespace everstep {
namespace {

const FieldRule& RuleNamed(std::span<const FieldRule> fields, std::string_view name) {
  return *std::ranges::find(fields, name, &FieldRule::name);
}

std::string_view DetailAttribute(const Event& event, std::string_view name) {
  return AttributeOf(event, RuleNamed(elephant::WorkflowRule().fields, name));
}

// Returns true if the event was written as an Elephant document. Then members of its payload belong
// in the detail.
bool IsAtHome(const Event& event) {
  return !DetailAttribute(event, "county").empty() && !DetailAttribute(event, "phase").empty();
}

// The members of the payload that are not in `taken`, as JSON text without the braces.
std::string PayloadBeyond(const Event& event, std::span<const FieldRule> taken) {
  thread_local simdjson::dom::parser parser;
  simdjson::dom::object payload;
  if (parser.parse(event.payload).get(payload)) return {};
  const std::string left = elephant::MembersBeyond(payload, taken);
  return left.empty() ? left : left.substr(1, left.size() - 2);
}

// {"code":…,"details":…}
std::string OneError(std::string_view code, std::string_view rest) {
  std::string json = "{\"code\":" + JsonQuote(code);
  if (!rest.empty()) json.append(",").append(rest);
  return json + "}";
}

std::string ErrorsOf(const Event& event) {
  if (event.type == EventType::kErrorRecorded) {
    if (IsAtHome(event)) {
      const std::string rest = PayloadBeyond(event, elephant::ErrorRule().fields.first(1));
      return "[" + OneError(event.entity_id, rest) + "]";
    }
    const auto details = RawMember(event.payload, "details");
    return "[" + OneError(event.entity_id, details ? "\"details\":" + std::string(*details) : "") +
           "]";
  }
  if (IsAtHome(event) || event.facts.error_code.empty()) return {};
  const std::string& message = event.facts.error_message;
  return "[" +
         OneError(event.facts.error_code,
                  message.empty() ? "" : "\"details\":{\"message\":" + JsonQuote(message) + "}") +
         "]";
}

std::string WorkflowDetail(const RunIdentity& run, const Event& event, std::string_view status) {
  const bool of_step = SpecOf(event.type).entity == EntityKind::kStep;
  const std::string& step = of_step || event.parent_id.empty() ? event.entity_id : event.parent_id;
  std::string detail;
  JsonWriter writer(detail);
  writer.BeginObject();
  writer.Member("executionId", run.run_id.value());
  const std::string_view county = DetailAttribute(event, "county");
  writer.RawMember("county", county.empty() ? "\"unknown\"" : county);
  const std::string_view label = DetailAttribute(event, "dataGroupLabel");
  if (!label.empty()) writer.RawMember("dataGroupLabel", label);
  writer.Member("status", status);
  const std::string_view phase = DetailAttribute(event, "phase");
  writer.RawMember("phase", phase.empty() ? JsonQuote(step) : std::string(phase));
  writer.Member("step", step);
  const std::string_view spent_token = DetailAttribute(event, elephant::kTaskToken);
  if (event.type == EventType::kHookCreated) {
    writer.Member(elephant::kTaskToken, event.facts.token);
  } else if (!spent_token.empty()) {
    writer.RawMember(elephant::kTaskToken, spent_token);
  }
  if (const std::string errors = ErrorsOf(event); !errors.empty())
    writer.RawMember("errors", errors);
  if (event.type != EventType::kErrorRecorded && IsAtHome(event)) {
    const std::span<const FieldRule> fields = elephant::WorkflowRule().fields;
    const std::string rest = PayloadBeyond(event, fields.first(fields.size() - 1));
    if (!rest.empty()) writer.Raw(rest);
  }
  writer.EndObject();
  return detail;
}

std::string SettledDetail(const RunIdentity& run, const Event& event) {
  std::string detail;
  JsonWriter writer(detail);
  writer.BeginObject();
  writer.Member("executionId", run.run_id.value());
  if (event.entity_id != elephant::kAllCodes) writer.Member("errorCode", event.entity_id);
  writer.EndObject();
  return detail;
}

// The status that represents the event; empty if there is none.
std::string_view StatusOf(const Event& event) {
  if (event.type == EventType::kHookCreated) return elephant::kFailed;
  if (event.type == EventType::kErrorRecorded) {
    // An error that was reported with a step or hook is shown in that document.
    const bool shown = RawMember(event.attributes, elephant::kReportedWith).has_value();
    return shown ? std::string_view() : elephant::kFailed;
  }
  if (event.type == EventType::kStepFailed && event.facts.will_retry) return {};
  const auto row = std::ranges::find(elephant::Statuses(), event.type, &elephant::StatusRow::type);
  return row == elephant::Statuses().end() ? std::string_view() : row->status;
}

void Envelope(std::string_view detail_type, const std::string& detail, const View& view,
              std::string& out) {
  const std::span<const FieldRule> fields = elephant::EnvelopeFields();
  JsonWriter writer(out);
  writer.BeginObject();
  const std::string_view version = AttributeOf(view.event, RuleNamed(fields, "version"));
  writer.RawMember("version", version.empty() ? "\"0\"" : version);
  ShowMember(RuleNamed(fields, "id"), view, writer);
  writer.Member("detail-type", detail_type);
  writer.Member("source", elephant::kSource);
  ShowMember(RuleNamed(fields, "account"), view, writer);
  ShowMember(RuleNamed(fields, "time"), view, writer);
  ShowMember(RuleNamed(fields, "region"), view, writer);
  const std::string_view resources = AttributeOf(view.event, RuleNamed(fields, "resources"));
  writer.RawMember("resources", resources.empty() ? "[]" : resources);
  writer.RawMember("detail", detail);
  writer.EndObject();
}

}  // namespace

void RenderElephant(const RunIdentity& run, const Event& event, std::vector<std::string>& out) {
  static const EventRow row{};
  const View view{run, event, row, event.event_id};
  for (const elephant::Kind& kind : elephant::Kinds()) {
    if (kind.settles == event.type) {
      Envelope(kind.name, SettledDetail(run, event), view, out.emplace_back());
    }
  }
  const std::string_view status = StatusOf(event);
  if (status.empty()) return;
  Envelope(elephant::Kinds().front().name, WorkflowDetail(run, event, status), view,
           out.emplace_back());
}

std::vector<DocumentShape> ElephantShapes() {
  std::vector<DocumentShape> shapes;
  for (const elephant::Kind& kind : elephant::Kinds()) {
    DocumentShape& shape =
        shapes.emplace_back(DocumentShape{kind.name, kind.meaning, kind.enveloped_rule, {}});
    if (kind.bare_rule == nullptr) continue;
    shape.rule = kind.bare_rule;
    shape.marks = elephant::EnvelopeMarks();
    shape.marked = kind.enveloped_rule;
  }
  return shapes;
}

std::vector<std::string> ElephantNamesOf(EventType type) {
  const std::string workflow(elephant::Kinds().front().name);
  if (type == EventType::kHookCreated) return {workflow + " (FAILED, with taskToken)"};
  if (type == EventType::kErrorRecorded) return {workflow + " (errors)"};
  for (const elephant::Kind& kind : elephant::Kinds()) {
    if (kind.settles == type) return {std::string(kind.name)};
  }
  const auto row = std::ranges::find(elephant::Statuses(), type, &elephant::StatusRow::type);
  if (row == elephant::Statuses().end()) return {};
  return {workflow + " (" + std::string(row->status) + ")"};
}

}  // namespace everstep
