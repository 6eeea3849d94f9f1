#include "deadline.h"

#include <utility>

#include "base/clock.h"

namespace everstep::cli {

Deadline::Deadline(std::function<void()> missed)
    : missed_(std::move(missed)), thread_([this] { Loop(); }) {}

Deadline::~Deadline() {
  {
    const std::lock_guard lock(mutex_);
    met_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Deadline::Set(std::chrono::milliseconds length) {
  {
    const std::lock_guard lock(mutex_);
    at_ = SteadyNow() + length;
  }
  changed_.notify_one();
}

void Deadline::Loop() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return met_ || at_.has_value(); });
  const bool met = met_ || changed_.wait_until(lock, *at_, [this] { return met_; });
  lock.unlock();
  if (!met) missed_();
}

}  // namespace everstep::cli
