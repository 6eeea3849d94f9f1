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
// Attribute of an error: the entity whose document shows it.
inline constexpr std::string_view kReportedWith = "reportedWith";
// Entity of an ErrorResolved or ErrorUnrecoverable that means every open code of the run.
inline constexpr std::string_view kAllCodes = "*";

// A document that can be written: an EventBridge envelope, and for WorkflowEvent also the detail
// alone.
struct Kind {
  std::string_view name;  // the detail-type
  std::string_view meaning;
  std::optional<EventType> settles;  // errors; none: it tells of a step
  const ObjectRule* enveloped_rule;
  const FieldCheck* enveloped;
  const ObjectRule* bare_rule;  // none: only in an envelope
  const FieldCheck* bare;
};

// WorkflowEvent first.
std::span<const Kind> Kinds();
const Kind* KindNamed(std::string_view detail_type);
// A document with one of these members is an envelope.
std::span<const std::string_view> EnvelopeMarks();

const ObjectRule& WorkflowRule();  // the errors last
const ObjectRule& ErrorRule();     // the code first
std::span<const FieldRule> EnvelopeFields();

// The members of an object that have none of these names, as an object in text; empty when none is
// left.
std::string MembersBeyond(simdjson::dom::object object, std::span<const FieldRule> taken);

// What a status says of the step, and back. FAILED is StepFailed here, a hook where there is a
// token.
struct StatusRow {
  std::string_view status;
  EventType type;
};
std::span<const StatusRow> Statuses();
EventType StepEventOf(std::string_view status);

}  // namespace everstep::elephant
