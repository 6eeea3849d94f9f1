#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/timestamp.h"
#include "event/event.h"

namespace everstep {

// The events of Workflow DevKit that an application asks to record.
enum class WorldEventType : std::uint8_t {
  kRunCreated,
  kRunStarted,
  kRunCompleted,
  kRunFailed,
  kRunCancelled,
  kStepCreated,
  kStepStarted,
  kStepCompleted,
  kStepFailed,
  kStepRetrying,
  kHookCreated,
  kHookReceived,
  kHookDisposed,
  kWaitCreated,
  kWaitCompleted,
  kAttrSet,
};

struct WorldEventSpec {
  WorldEventType type;
  std::string_view name;
  EntityKind entity;
  std::string_view payload_member;  // the opaque part of eventData; empty: it has none
};

// Nothing: no such event, or one that only Everstep records.
const WorldEventSpec* FindWorldEvent(std::string_view name);

// The opaque member of an event's data by the event's name, also of those that are only recorded.
std::string_view PayloadMemberOf(std::string_view event_name);

// attr_set may come without a correlation id; the log wants an entity.
inline constexpr std::string_view kUnnamedAttributes = "attributes";

// Places in a run's log as the ids of its events: "evnt_" and 26 digits.
std::string EventIdOf(EventSeq seq);
std::optional<EventSeq> SeqOfEventId(std::string_view event_id);

// The time that the ULID in an id ("step_01HXYZ…") begins with; unset: there is none.
Timestamp TimeOfId(std::string_view id);

}  // namespace everstep
