#pragma once

#include <cstdint>
#include <map>

#include "machine/machine.h"
#include "machine/state.h"

namespace everstep {

// The complete fold of one run in memory: feed it the log in order and it has the state that the
// store keeps in rows. Replay, verification and time travel stand on it. One thread at a time.
class RunFold {
 public:
  using Entities = std::map<EntityKey, EntityState>;

  enum class Applied : std::uint8_t {
    kApplied,
    kUnknownType,  // a type this build does not know: the watermark advanced, nothing else changed
    kInvalid,      // the rules refuse it: the watermark advanced and the run is marked inconsistent
    kOutOfOrder,   // not behind the watermark: ignored
  };

  // Before the first event.
  RunFold() = default;
  RunFold(RunScope scope, KeyVersion key_version);
  // From a snapshot: goes on behind run.last_seq.
  RunFold(RunState run, Entities entities);

  // A gap in the sequence is not noticed here; who reads foreign logs looks for it.
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
