#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "base/timestamp.h"
#include "everstep/log.h"

namespace everstep {

struct RaisedAlert {
  Timestamp at{};
  Alert alert;
};

// The alerts of this process, the newest kept. Thread-safe.
class AlertList {
 public:
  static constexpr std::size_t kKept = 1'000;

  void Add(const Alert& alert, Timestamp at) {
    const std::lock_guard lock(mutex_);
    alerts_.push_front({at, alert});
    if (alerts_.size() > kKept) alerts_.pop_back();
    ++total_;
  }
  // Newest first.
  std::vector<RaisedAlert> List() const {
    const std::lock_guard lock(mutex_);
    return {alerts_.begin(), alerts_.end()};
  }
  std::uint64_t total() const {
    const std::lock_guard lock(mutex_);
    return total_;
  }

 private:
  mutable std::mutex mutex_;
  std::deque<RaisedAlert> alerts_;
  std::uint64_t total_ = 0;
};

}  // namespace everstep
