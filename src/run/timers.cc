#include "run/timers.h"

#include <algorithm>
#include <vector>

#include "base/assert.h"

namespace everstep {

bool Timers::Armed(Timestamp due_at, const RunId& run_id, const std::string& wait_id) {
  const std::lock_guard lock(mutex_);
  if (due_at <= reported_until_) late_.emplace(due_at, std::pair(run_id, wait_id));
  const bool earlier = next_ == Timestamp{} || due_at < next_;
  if (earlier) next_ = due_at;
  return earlier;
}

Result<Timestamp> Timers::Poll(Timestamp now, std::size_t limit, const DueFn& on_due) {
  struct Due {
    Timestamp at{};
    RunId run_id;
    std::string wait_id;
  };
  std::vector<Due> due;
  Timestamp again = Timestamp::max();
  {
    const std::lock_guard lock(mutex_);
    while (!late_.empty() && late_.begin()->first <= now && due.size() < limit) {
      auto& [run_id, wait_id] = late_.begin()->second;
      due.push_back({late_.begin()->first, std::move(run_id), std::move(wait_id)});
      late_.erase(late_.begin());
    }
    if (!late_.empty()) again = late_.begin()->first;
    // Read one more than the limit: the first wait not reported determines when to poll again.
    auto timers = store_.Read()->TimersDue({Timestamp::max(), limit - due.size() + 1, reported_});
    if (!timers) return std::move(timers).error();
    for (Timer& timer : *timers) {
      EVERSTEP_ASSERT(reported_.empty() || timer.due_at >= reported_until_);
      if (timer.due_at > now || due.size() >= limit) {
        again = std::min(again, timer.due_at);
        break;
      }
      reported_ = std::move(timer.place);
      reported_until_ = timer.due_at;
      due.push_back({timer.due_at, std::move(timer.run_id), std::move(timer.wait_id)});
    }
    EVERSTEP_ASSERT(due.size() <= limit);
    next_ = again;
  }
  for (const Due& wait : due) on_due(wait.at, wait.run_id, wait.wait_id);
  return std::max(again, now);
}

}  // namespace everstep
