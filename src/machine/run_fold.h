#pragma once

#include <cstdint>
#include <map>

#include "machine/machine.h"
#include "machine/state.h"

namespace everstep {

// Folds the log of one run in memory. After applying the log in order it has the same state that
// the store keeps in rows. Used by replay, verification and time travel. Not thread-safe.
class RunFold {
 public:
  using Entities = std::map<EntityKey, EntityState>;

  enum class Applied : std::uint8_t {
    kApplied,
    kUnknownType,  // a type this build does not know: only the watermark advanced
    kInvalid,      // not allowed: the watermark advanced and the run was marked inconsistent
    kOutOfOrder,   // at or before the watermark: ignored
  };

  // Starts before the first event.
  RunFold() = default;
  RunFold(RunScope scope, KeyVersion key_version);
  // Starts from a snapshot and continues after run.last_seq.
  RunFold(RunState run, Entities entities);

  // Does not detect gaps in the sequence. A caller that reads foreign logs must check for them.
  Applied Apply(const Event& event);

  const RunState& run() const { return run_; }
  const Entities& entities() const { return entities_; }

 private:
  Applied ApplyToRun(const Event& event);
  void MarkInvalid(const Event& event);

  RunState run_;
  Entities entities_;
  EntityKey lookup_;  // reused, so that finding an entity allocates nothing
};

}  // namespace everstep
