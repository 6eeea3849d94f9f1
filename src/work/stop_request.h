#pragma once

#include <sys/eventfd.h>

#include <atomic>
#include <cstdint>

#include "base/unique_fd.h"

namespace everstep {

// A request to stop work on another thread, which that thread can wait for. Thread-safe.
class StopRequest {
 public:
  enum class Level : std::uint8_t { kNone, kAsked, kForced };

  StopRequest() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void Ask(bool force) {
    const Level wanted = force ? Level::kForced : Level::kAsked;
    Level level = level_.load();
    while (level < wanted && !level_.compare_exchange_weak(level, wanted)) {
    }
    ::eventfd_write(wake_.get(), 1);
  }
  Level level() const { return level_.load(); }
  bool asked() const { return level() != Level::kNone; }

  // Readable after each Ask until Take. Negative if the process has run out of descriptors: the
  // request is then only seen when something else wakes the thread.
  int descriptor() const { return wake_.get(); }
  Level Take() {
    eventfd_t count = 0;
    ::eventfd_read(wake_.get(), &count);
    return level();
  }

 private:
  std::atomic<Level> level_ = Level::kNone;
  UniqueFd wake_;
};

}  // namespace everstep
