#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/timestamp.h"
#include "event/event.h"
#include "everstep/engine.h"
#include "run/token_bucket.h"

namespace everstep {

// Where a limit counts, and what it counts.
enum class AdmissionLevel : std::uint8_t { kEngine, kTenant, kProject, kKey };
enum class AdmissionBound : std::uint8_t {
  kNone,     // no limit: others are ahead
  kRunning,  // runs at once
  kRate,     // starts over time
  kQueue,    // runs pending
  kTime      // its own start time
};

std::string_view ToString(AdmissionLevel level);
std::string_view ToString(AdmissionBound bound);

// The engine, a tenant, a project or a key: its limits and what is used of them. Owned by
// Admission, which keeps the counts of runs here true.
class AdmissionScope {
 public:
  AdmissionScope(AdmissionLevel level, std::string tenant, std::string name,
                 const AdmissionLimit& limit);

  AdmissionLevel level() const { return level_; }
  const std::string& tenant() const { return tenant_; }
  const std::string& name() const { return name_; }
  std::uint32_t weight() const { return weight_; }
  std::uint64_t running() const { return running_; }

  // Which limit keeps the next run from starting; kNone: it may.
  AdmissionBound Blocks(Timestamp now);
  // When there is a token again, not earlier than `now`.
  Timestamp TokenAt(Timestamp now);
  // When a scope that is not used any more can be forgotten without minting tokens.
  Timestamp ForgetAt(Timestamp now);
  // "tenant acme runs 4 of at most 4 runs".
  std::string Sentence(AdmissionBound bound, Timestamp now);

  // Counts a run that runs, and takes its token: the caller has asked Blocks at the same `now`.
  void Start(const RunId& run_id, Timestamp now);
  // As it was before a restart: beyond limits, without a token.
  void Resume(const RunId& run_id);
  void End();
  void GiveBackToken();

  // Kept by Admission.
  std::uint64_t members = 0;  // runs in any state
  std::uint64_t queued = 0;
  std::uint64_t delayed = 0;
  std::optional<Timestamp> wake_at;  // its place in the set of wakes …
  bool cooling = false;              // … or in that of unused scopes

 private:
  AdmissionLevel level_;
  std::string tenant_;
  std::string name_;
  std::uint32_t weight_;
  std::uint32_t running_max_;
  double per_second_;
  std::optional<TokenBucket> bucket_;
  std::uint64_t running_ = 0;
  RunId latest_;  // the run that started last: of a limit of one, the one that holds it
};

}  // namespace everstep
