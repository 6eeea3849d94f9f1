#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "everstep/engine.h"

namespace everstep::cli {

// Keeps the latest alerts of this process's engine for commands that watch its runs. Thread-safe.
class AlertBoard {
 public:
  static constexpr std::size_t kAlertsMax = 256;

  void Raise(const Alert& alert);
  // Returns the alerts raised after the first `seen` that are still kept, and sets `seen` to the
  // number of alerts raised so far.
  std::vector<Alert> Since(std::uint64_t& seen);

 private:
  std::mutex mutex_;
  std::deque<Alert> alerts_;  // the last of the `raised_` alerts
  std::uint64_t raised_ = 0;
};

// Returns "alert P1 DESTRUCTIVE_SIGNAL, run r1: CANCEL: not wanted".
std::string AlertText(const Alert& alert);

}  // namespace everstep::cli
