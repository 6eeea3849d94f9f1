#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace everstep {

// What readiness probes are told about the store and the disk. Both are looked at once a second at
// most and never by an io thread, so that any number of probes cost nothing and none waits for a
// disk that does not answer. Thread-safe.
class Readiness {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Answer {
    bool ready = false;
    std::string text;
  };

  // `look` may block.
  explicit Readiness(std::function<Answer()> look) : look_(std::move(look)) {}

  // Nothing: it is the caller's turn to call Look, on a thread that may block. Until that returns,
  // others get the former answer, for a while.
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
