#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/named.h"
#include "base/sha256.h"
#include "base/timestamp.h"
#include "event/event_type.h"

namespace everstep {

using RunId = Named<struct RunIdTag, std::string>;
// Position in a run's log: 1, 2, 3 …; zero is "before the first".
using EventSeq = Named<struct EventSeqTag, std::uint64_t>;

inline EventSeq Next(EventSeq seq) { return EventSeq(seq.value() + 1); }

// The two formulas of the idempotency key (docs/formats.md).
enum class KeyVersion : std::uint8_t { kV1 = 1, kV2 = 2 };

// Where a run belongs and what it executes: the same for every event of the run.
struct RunScope {
  std::string tenant_id;
  std::string project_id;
  std::string environment_id;
  std::string plan_id;
  std::string plan_version;

  bool operator==(const RunScope&) const = default;
};

// The engine_run_ref of runs that this engine decides for. Nobody else adds to their logs.
inline constexpr std::string_view kOwnEngine = "everstep";

// What the machine needs to know of an event's content. Read once, at the edge, from whatever shape
// the writer's dialect gives it; stored beside the content, so that replay parses no JSON.
struct EventFacts {
  bool will_retry = false;       // StepFailed: another attempt follows
  bool retryable = false;        // StepFailed, RunFailed
  bool revisit = false;          // StepScheduled, StepStarted: a step that had succeeded runs again
  bool escalation = false;       // SignalAccepted: ESCALATE_ALERT, legal on a run that has ended
  bool late = false;             // RunCancelled, events of steps: legal on a run that has ended
  Timestamp due_at{};            // WaitCreated, StepDelayed, StepFailed: not before;
                                 // HookCreated: nobody else gets the token before, if the run ends
  Timestamp started_at{};        // RunStarted: when execution began, by the engine's account
  std::string token{};           // HookCreated, HookConflict
  std::string error_code{};      // StepFailed, RunFailed
  std::string error_message{};   // StepFailed, RunFailed
  std::string engine_run_ref{};  // RunStarted, RunQueued
  std::string artifacts{};       // StepCompleted, RunCompleted: JSON array of ArtifactRef, or empty

  bool operator==(const EventFacts&) const = default;
};

// A fact in a run's log. Together with the run's id, scope and key version it is complete.
struct Event {
  EventType type{};
  std::uint8_t version = 1;
  EventSeq seq;
  std::string event_id;
  std::string entity_id;  // the step, hook, wait …; empty for the run itself
  std::string
      instance_id;  // takes the entity's place in the key where the entity repeats, else empty
  std::string parent_id;
  std::uint32_t logical_attempt = 1;
  std::uint32_t engine_attempt = 1;
  Timestamp emitted_at{};
  Timestamp persisted_at{};
  std::string emitted_by;
  EventFacts facts;
  std::string payload;     // JSON object as the writer sent it, or empty
  std::string attributes;  // JSON object: what the writer's envelope says beyond ours, or empty
  // Chains through the log, so that the events of one entity or one type are found without an index
  // row each. Zero: none before.
  EventSeq previous_of_entity;
  EventSeq previous_of_type;

  bool operator==(const Event&) const = default;
};

// An order to append one event: an Event before the authority has placed it.
struct EventWrite {
  EventType type{};
  RunId run_id;
  RunScope scope;        // empty members: as the run has it, or the caller's defaults on a new run
  std::string event_id;  // empty: the authority makes one
  std::string entity_id;
  std::string instance_id;
  std::string parent_id;
  std::uint32_t logical_attempt = 0;  // zero: the authority takes the one the state asks for
  std::uint32_t engine_attempt = 0;   // zero: likewise
  Timestamp emitted_at{};             // unset: persisted_at
  std::string emitted_by;
  EventFacts facts;
  std::string payload;
  std::string attributes;
  std::optional<Sha256Digest> key;        // as the writer computed it; checked, never trusted
  std::optional<KeyVersion> key_version;  // asked for on a new run
  bool foreign = false;  // comes from outside: not for runs that the engine decides for
  bool revisit = false;  // a step that has ended may run again, as a further attempt
  bool starts_run =
      false;  // on a run that does not exist: RunStarted is recorded before this event

  bool operator==(const EventWrite&) const = default;
};

}  // namespace everstep
