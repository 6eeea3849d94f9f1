#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "event/event.h"
#include "everstep/result.h"

namespace everstep {

enum class RunStatus : std::uint8_t {
  kAbsent = 0,
  kPending = 1,
  kApproved = 2,
  kRunning = 3,
  kPaused = 4,
  kCompleted = 5,
  kFailed = 6,
  kCancelled = 7,
};
std::string_view Name(RunStatus status);  // "PENDING" …
std::optional<RunStatus> RunStatusNamed(std::string_view name);
inline bool IsTerminal(RunStatus status) { return status >= RunStatus::kCompleted; }

// The statuses of all entities other than the run; each kind uses the ones in its lifecycle.
enum class EntityStatus : std::uint8_t {
  kAbsent = 0,
  kPending = 1,   // step: scheduled or waiting for a retry
  kRunning = 2,   // step; child: started
  kSuccess = 3,   // step, child
  kFailed = 4,    // step
  kSkipped = 5,   // step
  kOpen = 6,      // tool, loop, iteration, case, retry, sink: started; error: not resolved
  kClosed = 7,    // as kOpen: finished; error: resolved; child: finished; next, context: recorded
  kActive = 8,    // hook
  kDisposed = 9,  // hook
  kConflicted = 10,     // hook
  kWaiting = 11,        // wait
  kElapsed = 12,        // wait: completed
  kCancelled = 13,      // wait: its run ended first
  kAccepted = 14,       // signal
  kRejected = 15,       // signal
  kUnrecoverable = 16,  // error
};
std::string_view Name(EntityStatus status);

struct EntityKey {
  EntityKind kind{};
  std::string id;

  auto operator<=>(const EntityKey&) const = default;
};

// The state of one step, hook, wait, tool … Stored in a small row of its own, so that the cost of
// an event does not grow with the length of the log.
struct EntityState {
  EntityStatus status = EntityStatus::kAbsent;
  bool will_retry = false;  // failed step: another attempt is announced
  bool retryable = false;
  std::uint32_t logical_attempt = 0;
  std::uint32_t engine_attempt = 0;
  std::uint32_t starts = 0;       // step: StepStarted events; bookkeeping: starts still open
  std::uint64_t occurrences = 0;  // events of this entity
  EventSeq first_seq;
  EventSeq last_seq;       // head of the entity's chain
  Timestamp started_at{};  // first start
  Timestamp completed_at{};
  Timestamp due_at{};         // wait: its end; step: earliest start; hook: end of reservation
  std::string token;          // hook
  std::string error_code;     // step
  std::string error_message;  // step
  std::string artifacts;      // step: JSON array, or empty
  std::string parent_id;

  bool operator==(const EntityState&) const = default;
};

// The state of a run. Its size is constant, however long the log is.
struct RunState {
  RunScope scope;
  KeyVersion key_version = KeyVersion::kV1;
  RunStatus status = RunStatus::kAbsent;
  bool inconsistent = false;  // a stored event was invalid and was ignored
  std::uint32_t pause_epoch = 0;
  std::uint32_t engine_attempt = 0;
  EventSeq last_seq;
  Timestamp created_at{};  // persisted_at of the first event
  Timestamp updated_at{};  // persisted_at of the last event
  Timestamp started_at{};
  Timestamp completed_at{};
  std::string engine_run_ref;
  std::string error_code;
  std::string error_message;
  std::string artifacts;  // RunCompleted's own
  // Maintained counts.
  std::uint64_t steps_total = 0;
  std::uint64_t steps_running = 0;
  std::uint64_t steps_succeeded = 0;
  std::uint64_t steps_failed = 0;
  std::uint64_t steps_skipped = 0;
  std::uint64_t hooks_active = 0;
  std::uint64_t waits_open = 0;
  std::uint64_t errors_open = 0;
  // Head of the chain of each event type, indexed by the type's number; zero: none.
  std::array<EventSeq, kEventTypeCount + 1> last_of_type{};

  bool operator==(const RunState&) const = default;
};

// Stored formats (docs/formats.md). Decoding returns kStoreCorrupt for anything that Encode would
// not write.
void EncodeRunState(const RunState& state, std::string& out);
Result<RunState> DecodeRunState(std::string_view bytes);
void EncodeEntityState(const EntityState& state, std::string& out);
Result<EntityState> DecodeEntityState(std::string_view bytes);

}  // namespace everstep
