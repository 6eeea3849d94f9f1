#pragma once

#include <cstdint>

namespace everstep {

// Where the value of a field is stored in an EventWrite, and where a view finds it in an Event.
enum class Slot : std::uint8_t {
  kNone,  // checked, but kept only in the payload text
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
  // Envelope members with additional semantics.
  kCreatedAt,    // an attribute; emitted_at if not given otherwise. Views default to persisted_at
  kSequence,     // an attribute. Views show the writer's, else the run's own
  kAlias,        // an attribute. Views show the writer's, else the dialect's
  kEntityType,   // determined by the event's name
  kRunLabel,     // an attribute, shown only in the document that was written
  kEntityLabel,  // the entity; an attribute if the step's run has its own id
  kStepRunId,    // an attribute; for events of a step also the entity
  kStatus,       // an attribute; also selects the event
  // EventFacts.
  kWillRetry,
  kRetryable,
  kDueAt,
  kStartedAt,
  kToken,
  kErrorCode,
  kErrorMessage,
  kError,       // a string or an object with `code` and `message`
  kErrorAlias,  // the same, but never shown because the dialect has other members for it
  kEngineRunRef,
  kArtifacts,
  kSignalId,  // the entity, unless the envelope names it
  kSignalType,
  // The scope in a run's own context; must match the envelope.
  kContextTenantId,
  kContextProjectId,
  kContextEnvironmentId,
  kContextPlanId,
  kContextPlanVersion,
};

}  // namespace everstep
