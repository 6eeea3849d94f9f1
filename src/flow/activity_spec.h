#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace everstep {

using Milliseconds = std::chrono::milliseconds;

// When a failed attempt is followed by another, and after what delay. The first rule of an activity
// that matches a failure decides; each rule counts its own retries.
struct RetryRule {
  enum class Backoff : std::uint8_t { kNone, kLinear, kExponential };
  std::vector<std::string> error_codes{};  // empty: every failure that is reported as retryable
  std::uint32_t retries_max = UINT32_MAX;
  Backoff backoff = Backoff::kExponential;
  double rate = 2;  // kExponential: the delay is multiplied by it each time
  Milliseconds initial_delay{1000};
  Milliseconds max_delay{60'000};
  double jitter = 0;  // share of the delay that is random, 0 to 1

  // The delay before the rule's retry number `retry` (1, 2 …), with `random` in [0, 1). The delay
  // grows from initial_delay, is cut at max_delay, and then shortened by the random share.
  Milliseconds DelayBefore(std::uint32_t retry, double random) const;
};

// A secret by name. Its value exists only in the worker's memory.
struct SecretRef {
  std::string name;      // how inputs refer to it: {{ secrets.name }}
  std::string provider;  // "env" or "file"
  std::string key;
  std::string version;
};

// How a piece of work is carried out, whatever kind of program orders it.
struct ActivitySpec {
  std::string kind;  // the tool
  std::optional<Milliseconds> timeout;
  std::optional<Milliseconds> heartbeat_timeout;
  std::uint32_t attempts_max = 1;        // in all, the first included
  std::vector<RetryRule> retry_rules{};  // in order; none: no retry
  std::vector<SecretRef> secrets;
  std::string queue;          // whose slots it takes; empty: the tool's own
  std::int32_t priority = 0;  // larger first
  // A call of the tool hands over a token and returns; the answer comes later, by the token's hook.
  bool answered_by_hook = false;
  bool cancellable = true;             // may be interrupted when the run is cancelled or fails
  std::vector<std::string> artifacts;  // files of a shell or python step to keep, by pattern
};

}  // namespace everstep
