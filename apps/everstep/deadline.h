#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace everstep::cli {

// Calls `missed`, on its own thread, if the object still exists when the time is up.
class Deadline {
 public:
  explicit Deadline(std::function<void()> missed);
  // Meets the deadline: on return `missed` is not running and will not be called.
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  // Starts the time. Must be called at most once.
  void Set(std::chrono::milliseconds length);

 private:
  using Time = std::chrono::steady_clock::time_point;
  void Loop();

  const std::function<void()> missed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Time> at_;  // guarded by mutex_, like met_
  bool met_ = false;
  std::thread thread_;  // created early: when the time starts, no thread may be available
};

}  // namespace everstep::cli
