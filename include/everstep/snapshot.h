#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace everstep {

using SystemTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>;

struct StepSnapshot {
  struct Failure {
    std::string code;
    std::string message;
    bool retryable = false;
    bool operator==(const Failure&) const = default;
  };

  std::string step_id;
  std::string status;  // PENDING, RUNNING, SUCCESS, FAILED, SKIPPED
  std::uint32_t logical_attempt = 0;
  std::uint32_t engine_attempt = 0;
  std::uint32_t attempts = 0;  // number of starts, for any reason
  std::optional<SystemTime> started_at;
  std::optional<SystemTime> completed_at;
  std::string artifacts = "[]";  // JSON array of ArtifactRef
  std::optional<Failure> error;

  bool operator==(const StepSnapshot&) const = default;
};

// The state folded from a run's events up to last_event_seq. A plain value; it is never updated.
struct RunSnapshot {
  struct Counters {
    std::uint64_t steps = 0;
    std::uint64_t running = 0;
    std::uint64_t succeeded = 0;
    std::uint64_t failed = 0;
    std::uint64_t skipped = 0;
    std::uint64_t hooks_active = 0;
    std::uint64_t waits_open = 0;
    std::uint64_t errors_open = 0;
    bool operator==(const Counters&) const = default;
  };

  std::string run_id;
  std::string tenant_id;
  std::string project_id;
  std::string environment_id;
  std::string plan_id;
  std::string plan_version;
  std::string status;     // PENDING, APPROVED, RUNNING, PAUSED, COMPLETED, FAILED, CANCELLED
  std::string substatus;  // DRAINING while a paused run still has steps in flight, else empty
  std::string message;    // a sentence for people, if the status alone is not enough
  std::uint64_t last_event_seq = 0;
  std::vector<StepSnapshot> steps;  // by step id
  std::string artifacts = "[]";     // JSON array: the run's own, then those of its steps
  std::optional<SystemTime> started_at;
  std::optional<SystemTime> completed_at;
  std::optional<std::int64_t> total_duration_ms;
  std::string engine_run_ref;
  std::optional<StepSnapshot::Failure> error;
  Counters counters;
  bool inconsistent = false;  // an invalid stored event was ignored

  bool operator==(const RunSnapshot&) const = default;
};

// Serializes with the contract's field names; omits members without a value.
std::string ToJson(const RunSnapshot& snapshot);

// SHA-256 over RFC 8785 JSON of {runId, status, paused, startedAt, completedAt, steps{status,
// attempts, startedAt, completedAt}}: the contract's parity hash, where step success reads
// COMPLETED.
std::string SnapshotHash(const RunSnapshot& snapshot);

// The same hash without times and attempts: equal for runs that reached the same outcome by
// different paths.
std::string SemanticHash(const RunSnapshot& snapshot);

}  // namespace everstep
