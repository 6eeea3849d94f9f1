// Elephant's EventBridge documents. One WorkflowEvent reports a step, a hook if the step waits for
// a task token, and any number of errors.

#include <algorithm>
#include <array>

#include "base/json.h"
#include "event/catalogue.h"
#include "event/dialects.h"
#include "event/elephant_table.h"
#include "event/json_document.h"
#include "event/slot_fill.h"

namespace everstep {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

// Step names are limited so that the hook's id fits the limit for names.
std::string HookId(std::string_view step, std::string_view token) {
  return std::string(step) + "/" + ToHex(Sha256(token)).substr(0, 16);
}

EventWrite Draft(const Findings& findings) {
  EventWrite write;
  for (const FoundField& found : findings.found) Fill(found, write);
  return write;
}

void AddErrors(object detail, const EventWrite& first, std::string_view step, AppendOrder& order) {
  array errors;
  if (detail["errors"].get(errors)) return;
  std::size_t number = 0;
  for (const element item : errors) {
    object error;
    std::string_view code;
    if (item.get(error) || error["code"].get(code)) continue;
    EventWrite write = first;
    write.type = EventType::kErrorRecorded;
    write.entity_id = code;
    write.parent_id = step;
    write.instance_id.clear();
    write.facts = {};
    write.payload = elephant::MembersBeyond(error, elephant::ErrorRule().fields.first(1));
    AddMember(write.attributes, elephant::kReportedWith, JsonQuote(first.entity_id));
    if (!first.event_id.empty()) write.event_id += "." + std::to_string(++number);
    order.events.push_back(std::move(write));
  }
}

AppendOrder WorkflowEvent(object detail, const Findings& findings) {
  EventWrite write = Draft(findings);
  write.starts_run = true;
  write.revisit = true;
  const std::span<const FieldRule> fields = elephant::WorkflowRule().fields;
  write.payload = elephant::MembersBeyond(detail, fields.first(fields.size() - 1));
  const std::string step = write.entity_id;
  std::string_view status;
  const bool has_status = !detail["status"].get(status);
  const bool failed = has_status && status == elephant::kFailed;
  write.type = failed ? EventType::kStepFailed : elephant::StepEventOf(status);
  if (!write.facts.token.empty()) {
    if (failed) {
      write.type = EventType::kHookCreated;
      write.entity_id = HookId(step, write.facts.token);
      write.parent_id = step;
    } else {
      AddMember(write.attributes, elephant::kTaskToken, JsonQuote(write.facts.token));
      write.facts.token.clear();
    }
  }
  // A step may run again after it has succeeded, so its attempts cannot distinguish the redelivery
  // of an old document from a new document. The document's id can.
  if (!write.event_id.empty() && write.type != EventType::kHookCreated) {
    write.instance_id = step + "/" + write.event_id;
  }
  array errors;
  if (write.type == EventType::kStepFailed && !detail["errors"].get(errors)) {
    for (const element error : errors) {
      std::string_view code;
      if (!error["code"].get(code)) write.facts.error_code = code;
      break;
    }
  }
  AppendOrder order{write.run_id, {write}};
  AddErrors(detail, write, step, order);
  return order;
}

AppendOrder Settled(EventType type, const Findings& findings) {
  EventWrite write = Draft(findings);
  write.type = type;
  if (write.entity_id.empty()) write.entity_id = elephant::kAllCodes;
  const RunId run_id = write.run_id;
  return {run_id, {std::move(write)}};
}

}  // namespace

Result<AppendOrder> ParseElephant(std::string_view json) {
  auto document = ReadDocument(json);
  if (!document) return std::move(document).error();
  const elephant::Kind* kind = &elephant::Kinds().front();
  const bool enveloped = std::ranges::any_of(elephant::EnvelopeMarks(), [&](auto mark) {
    return document->at_key(mark).error() == simdjson::SUCCESS;
  });
  if (enveloped) {
    std::string_view name;
    if (document->at_key("detail-type").get(name)) {
      return Error{ErrorCode::kSchemaValidationFailed,
                   "the event has no type",
                   {Fault{"/detail-type", "is required: the event's name"}}};
    }
    kind = elephant::KindNamed(name);
    if (kind == nullptr) {
      return Error{ErrorCode::kEventTypeUnknown,
                   JsonQuote(name) + " is not an event of the elephant dialect",
                   {Fault{"/detail-type",
                          "must be one of WorkflowEvent, ElephantErrorResolved, "
                          "ElephantErrorFailedToResolve"}}};
    }
  }
  thread_local Findings findings;
  findings.Clear();
  (enveloped ? kind->enveloped : kind->bare)->Run(*document, findings);
  if (auto error = ErrorOf(kind->name, findings)) return *std::move(error);
  if (kind->settles) return Settled(*kind->settles, findings);
  object detail = *document;
  if (enveloped && document->at_key("detail").get(detail)) detail = *document;
  return WorkflowEvent(detail, findings);
}

}  // namespace everstep
