#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "everstep/engine.h"

namespace everstep::cli {

// The latest alerts of this process's engine, for whoever watches runs of it. Thread-safe.
class AlertBoard {
 public:
  static constexpr std::size_t kAlertsMax = 256;

  void Raise(const Alert& alert);
  // Those that came behind the first `seen`, which moves on to all.
  std::vector<Alert> Since(std::uint64_t& seen);

 private:
  std::mutex mutex_;
  std::deque<Alert> alerts_;  // the last of `raised_`
  std::uint64_t raised_ = 0;
};

// "alert P1 DESTRUCTIVE_SIGNAL, run r1: CANCEL: not wanted"
std::string AlertText(const Alert& alert);

}  // namespace everstep::cli
