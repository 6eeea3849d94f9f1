#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/timestamp.h"
#include "event/event.h"
#include "everstep/engine.h"
#include "run/token_bucket.h"

namespace everstep {

// The level at which a limit applies, and what it bounds.
enum class AdmissionLevel : std::uint8_t { kEngine, kTenant, kProject, kKey };
enum class AdmissionBound : std::uint8_t {
  kNone,     // no limit; other runs are ahead
  kRunning,  // concurrent runs
  kRate,     // starts over time
  kQueue,    // pending runs
  kTime      // the run's own start time
};

std::string_view ToString(AdmissionLevel level);
std::string_view ToString(AdmissionBound bound);

// The engine, a tenant, a project or a key: its limits and how much of them is used. Admission
// maintains the counts of runs.
class AdmissionScope {
 public:
  AdmissionScope(AdmissionLevel level, std::string tenant, std::string name,
                 const AdmissionLimit& limit);

  AdmissionLevel level() const { return level_; }
  const std::string& tenant() const { return tenant_; }
  const std::string& name() const { return name_; }
  std::uint32_t weight() const { return weight_; }
  std::uint64_t running() const { return running_; }

  // Which limit keeps the next run from starting; kNone: it may start.
  AdmissionBound Blocks(Timestamp now);
  // When a token is available, not earlier than `now`.
  Timestamp TokenAt(Timestamp now);
  // When an unused scope can be forgotten: its bucket is full then, so no tokens are gained.
  Timestamp ForgetAt(Timestamp now);
  // Describes a limit: "tenant acme has 4 of at most 4 runs running".
  std::string Sentence(AdmissionBound bound, Timestamp now);

  // Counts a running run and takes its token. Requires: Blocks returned kNone for the same `now`.
  void Start(const RunId& run_id, Timestamp now);
  // Counts a run that was running before a restart, regardless of limits and without a token.
  void Resume(const RunId& run_id);
  void End();
  void GiveBackToken();

  // Maintained by Admission and AdmissionScopes.
  std::uint64_t members = 0;  // runs in any state
  std::uint64_t queued = 0;
  std::uint64_t delayed = 0;
  std::optional<Timestamp> wake_at;  // its key in wakes_ or cooling_ of AdmissionScopes
  bool cooling = false;              // it is in cooling_

 private:
  AdmissionLevel level_;
  std::string tenant_;
  std::string name_;
  std::uint32_t weight_;
  std::uint32_t running_max_;
  double per_second_;
  std::optional<TokenBucket> bucket_;
  std::uint64_t running_ = 0;
  RunId latest_;  // the run that started last; with a limit of one, the run that uses it
};

}  // namespace everstep
