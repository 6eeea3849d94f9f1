#include "serve/end_waiters.h"

#include <utility>
#include <vector>

#include "base/clock.h"

namespace everstep {
namespace {

// So many answers are made by the thread that ended the run, which decides for other runs too.
constexpr std::size_t kSeenMax = 4;

}  // namespace

EndWaiters::EndWaiters(CommitFeed& feed) : feed_(feed), thread_([this] { Loop(); }) {
  feed_.Add(*this);
}

EndWaiters::~EndWaiters() {
  feed_.Remove(*this);
  Close();
}

void EndWaiters::Durable(std::span<const std::shared_ptr<CommitUnit>> units) {
  for (const auto& unit : units) {
    const RunState& run = unit->change.state;
    if (IsTerminal(run.status) && run.engine_run_ref != kOwnEngine) {
      Ended(unit->change.run_id.value());
    }
  }
}

void EndWaiters::Close() {
  std::multimap<Time, Waiter> left;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    left.swap(by_time_);
    by_run_.clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  for (auto& [time, waiter] : left) waiter.done(nullptr);
}

void EndWaiters::Add(const std::string& run_id, std::chrono::milliseconds wait, Done done) {
  std::unique_lock lock(mutex_);
  if (stop_) {
    lock.unlock();
    return done(nullptr);
  }
  const auto place = by_time_.emplace(SteadyNow() + wait, Waiter{run_id, std::move(done)});
  by_run_.emplace(run_id, place);
  if (place->first < wakes_at_) changed_.notify_one();
}

std::vector<EndWaiters::Done> EndWaiters::Take(const std::string& run_id) {
  std::vector<Done> taken;
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = by_run_.equal_range(run_id);
  for (auto entry = begin; entry != end; ++entry) {
    taken.push_back(std::move(entry->second->second.done));
    by_time_.erase(entry->second);
  }
  by_run_.erase(begin, end);
  return taken;
}

void EndWaiters::Ended(const std::string& run_id) {
  for (const Done& done : Take(run_id)) done(nullptr);
}

void EndWaiters::Ended(const std::string& run_id, const std::function<RunView()>& see) {
  const auto waiters = Take(run_id);
  if (waiters.empty()) return;
  const RunView view = see();
  for (std::size_t i = 0; i < waiters.size(); ++i) waiters[i](i < kSeenMax ? &view : nullptr);
}

void EndWaiters::Loop() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    // Don't reschedule when the earliest waiter is answered: later ones usually wait longer.
    const Time first = by_time_.empty() ? Time::max() : by_time_.begin()->first;
    if (SteadyNow() < first) {
      wakes_at_ = first;
      first == Time::max() ? changed_.wait(lock) : (void)changed_.wait_until(lock, first);
      continue;
    }
    Waiter waiter = std::move(by_time_.begin()->second);
    const auto [begin, end] = by_run_.equal_range(waiter.run_id);
    for (auto entry = begin; entry != end; ++entry) {
      if (entry->second == by_time_.begin()) {
        by_run_.erase(entry);
        break;
      }
    }
    by_time_.erase(by_time_.begin());
    lock.unlock();
    waiter.done(nullptr);
    lock.lock();
  }
}

}  // namespace everstep
