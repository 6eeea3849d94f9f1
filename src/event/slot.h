#pragma once

#include <cstdint>

namespace everstep {

// Where the value of a field goes in an EventWrite, and where a view finds it again in an Event.
enum class Slot : std::uint8_t {
  kNone,  // checked, and kept in the text it came in
  // The envelope.
  kEventType,
  kRunId,
  kRunSeq,
  kEventId,
  kEntityId,
  kInstanceId,
  kParentId,
  kTenantId,
  kProjectId,
  kEnvironmentId,
  kPlanId,
  kPlanVersion,
  kEngineAttempt,
  kLogicalAttempt,
  kKey,
  kKeyVersion,
  kEmittedAt,
  kPersistedAt,
  kEmittedBy,
  kPayload,
  kAttributes,
  kAttribute,  // a member of the attributes, under its own name
  // Envelope members that say something more than one of the above.
  kCreatedAt,    // an attribute; also the time of emission when no other is given. Shown: persisted
  kSequence,     // an attribute. Shown: the writer's, else the run's own
  kAlias,        // an attribute. Shown: the writer's, else the dialect's
  kEntityType,   // follows from the event's name
  kRunLabel,     // an attribute, shown in the words in which it was written
  kEntityLabel,  // the entity; where the step's own run has an id, an attribute beside it
  kStepRunId,    // an attribute; for events of a step also the entity
  kStatus,       // an attribute; also selects the event
  // What the machine has to know (EventFacts).
  kWillRetry,
  kRetryable,
  kDueAt,
  kStartedAt,
  kToken,
  kErrorCode,
  kErrorMessage,
  kError,       // a string or an object with `code` and `message`
  kErrorAlias,  // the same, but never shown: the dialect has better names
  kEngineRunRef,
  kArtifacts,
  kSignalId,  // the entity, unless the envelope names it
  kSignalType,
  // The scope as a run's own context tells it; has to agree with the envelope.
  kContextTenantId,
  kContextProjectId,
  kContextEnvironmentId,
  kContextPlanId,
  kContextPlanVersion,
};

}  // namespace everstep
