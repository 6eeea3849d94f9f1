#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/timestamp.h"
#include "event/event.h"

namespace everstep {

// The Workflow DevKit events that an application may record.
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
  std::string_view payload_member;  // the opaque part of eventData; empty if there is none
};

// Returns null if there is no such event or only Everstep may record it.
const WorldEventSpec* FindWorldEvent(std::string_view name);

// The opaque member of an event's data. Empty if the event has none or is not in the table.
std::string_view PayloadMemberOf(std::string_view event_name);

// attr_set may have no correlation id, but the log needs an entity id.
inline constexpr std::string_view kUnnamedAttributes = "attributes";

// Positions in a run's log as event ids: "evnt_" and 26 digits.
std::string EventIdOf(EventSeq seq);
std::optional<EventSeq> SeqOfEventId(std::string_view event_id);

// The time encoded in the ULID of an id ("step_01HXYZ…"); unset if there is none.
Timestamp TimeOfId(std::string_view id);

}  // namespace everstep
