#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/timestamp.h"
#include "everstep/result.h"
#include "store/state_store.h"

namespace everstep {

// Reports waits that fall due. The waits are kept in the store in order of due time; this class
// only remembers how far it has reported them, so a parked run costs no memory. Thread-safe.
//
// A wait may be reported more than once (the run ignores waits that are no longer open). After a
// restart, waits that are not completed are reported again.
class Timers {
 public:
  using DueFn =
      std::function<void(Timestamp due_at, const RunId& run_id, const std::string& wait_id)>;

  explicit Timers(StateStore& store) : store_(store) {}

  // To be called when a wait has become durable. Returns true if the next Poll must be called
  // earlier than planned, at `due_at`.
  bool Armed(Timestamp due_at, const RunId& run_id, const std::string& wait_id);

  // Reports due waits, at most `limit`. Returns when to call it again: `now` if more waits are due,
  // Timestamp::max() if there is none.
  Result<Timestamp> Poll(Timestamp now, std::size_t limit, const DueFn& on_due);

 private:
  StateStore& store_;
  std::mutex mutex_;
  std::string reported_;        // place of the last reported wait; guarded by mutex_, like the rest
  Timestamp reported_until_{};  // its due time
  Timestamp next_{};            // when to call Poll again; unset: not known
  // Waits that became durable with a due time up to reported_until_.
  std::multimap<Timestamp, std::pair<RunId, std::string>> late_;
};

}  // namespace everstep
