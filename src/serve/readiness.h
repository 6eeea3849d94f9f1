#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace everstep {

// The answer to readiness probes, which depends on the store and the disk. Both are checked at most
// once a second and never on an io thread, so probes cost nothing and never wait for a disk that
// does not respond. Thread-safe.
class Readiness {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Answer {
    bool ready = false;
    std::string text;
  };

  // `look` may block.
  explicit Readiness(std::function<Answer()> look) : look_(std::move(look)) {}

  // Returns nothing if the caller must call Look, on a thread that may block. Until that returns,
  // other callers get the previous answer, for a limited time.
  std::optional<Answer> Ask(Time now);
  Answer Look();

 private:
  const std::function<Answer()> look_;
  std::mutex mutex_;
  // A store that was just opened is healthy. Guarded by mutex_, as the next.
  Answer latest_{true, "ready\n"};
  std::optional<Time> looked_;  // when the last look began
  bool looking_ = false;
};

}  // namespace everstep
