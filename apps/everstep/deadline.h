#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace everstep::cli {

// Calls `missed`, on a thread of its own, if it still exists when the time is over.
class Deadline {
 public:
  explicit Deadline(std::function<void()> missed);
  // Met: `missed` is not called any more.
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  // The time begins. Once.
  void Set(std::chrono::milliseconds length);

 private:
  using Time = std::chrono::steady_clock::time_point;
  void Loop();

  const std::function<void()> missed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Time> at_;  // guarded by mutex_, as the next
  bool met_ = false;
  std::thread thread_;  // made ahead: when the time begins there may be none to be had
};

}  // namespace everstep::cli
