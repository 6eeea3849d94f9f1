#pragma once

#include <simdjson.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "event/event_type.h"
#include "event/field_check.h"
#include "event/field_rule.h"

namespace everstep::elephant {

inline constexpr std::string_view kSource = "elephant.workflow";
inline constexpr std::string_view kFailed = "FAILED";
inline constexpr std::string_view kTaskToken = "taskToken";
// Attribute of an error: the entity of the document that shows it.
inline constexpr std::string_view kReportedWith = "reportedWith";
// The entity of an ErrorResolved or ErrorUnrecoverable for every open code of the run.
inline constexpr std::string_view kAllCodes = "*";

// A kind of document that can be written: in an EventBridge envelope and, for WorkflowEvent, also
// the detail alone.
struct Kind {
  std::string_view name;  // the detail-type
  std::string_view meaning;
  std::optional<EventType> settles;  // the event for errors; none: the document reports a step
  const ObjectRule* enveloped_rule;
  const FieldCheck* enveloped;
  const ObjectRule* bare_rule;  // null: an envelope is required
  const FieldCheck* bare;
};

// All kinds; WorkflowEvent is the first.
std::span<const Kind> Kinds();
const Kind* KindNamed(std::string_view detail_type);
// A document with any of these members is an envelope.
std::span<const std::string_view> EnvelopeMarks();

const ObjectRule& WorkflowRule();  // its last field is the errors
const ObjectRule& ErrorRule();     // its first field is the code
std::span<const FieldRule> EnvelopeFields();

// Returns the members of `object` that are not in `taken`, as a JSON object; empty if there are
// none.
std::string MembersBeyond(simdjson::dom::object object, std::span<const FieldRule> taken);

// The mapping between statuses and step events. FAILED maps to StepFailed here; with a token it
// means a hook.
struct StatusRow {
  std::string_view status;
  EventType type;
};
std::span<const StatusRow> Statuses();
EventType StepEventOf(std::string_view status);

}  // namespace everstep::elephant
