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

// Tells runs of their waits when they fall due. Waits lie in the store in order of due time; here
// is only how far they have been told, so a parked run costs no memory. Thread-safe.
//
// A wait may be told more than once (the run ignores what is no longer open) and is told again
// after a restart until it is completed.
class Timers {
 public:
  using DueFn =
      std::function<void(Timestamp due_at, const RunId& run_id, const std::string& wait_id)>;

  explicit Timers(StateStore& store) : store_(store) {}

  // A wait has become durable. Answers whether it is earlier than all known: look again by then.
  bool Armed(Timestamp due_at, const RunId& run_id, const std::string& wait_id);

  // Tells of what is due, at most `limit` waits. Answers when to look again; `now` itself when
  // there is more to tell.
  Result<Timestamp> Poll(Timestamp now, std::size_t limit, const DueFn& on_due);

 private:
  StateStore& store_;
  std::mutex mutex_;
  std::string told_;        // place of the last wait told; guarded by mutex_, as all below
  Timestamp told_until_{};  // its due time
  Timestamp next_{};        // when to look again; unset: not known
  // Waits that became durable behind the place told.
  std::multimap<Timestamp, std::pair<RunId, std::string>> late_;
};

}  // namespace everstep
