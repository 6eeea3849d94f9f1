#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "work/child_process.h"
#include "work/stop_request.h"

namespace everstep {

// A running python3 process that executes one task after another. Must be used by one thread at a
// time.
class PythonInterpreter {
 public:
  enum class End : std::uint8_t { kAnswered, kCrashed, kTimedOut, kStopped };
  struct Answer {
    End end = End::kAnswered;
    Value frame;          // for kAnswered
    std::string message;  // for kCrashed
  };
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  // Returns null and sets `reason` to the errno if python3 cannot be started.
  static std::unique_ptr<PythonInterpreter> Start(const std::string& path,
                                                  std::vector<std::string> environment,
                                                  int& reason);

  // The interpreter must not be used again unless the result is kAnswered.
  Answer Run(const Value& task, Deadline deadline, StopRequest& stop,
             const std::function<void()>& beat);
  std::uint32_t tasks() const { return tasks_; }

 private:
  explicit PythonInterpreter(ChildProcess child) : child_(std::move(child)) {}

  // Writes the pending bytes and reads the available ones. Returns false if a pipe is closed.
  bool Exchange();
  // Returns the next complete frame, undefined if there is none yet, or null if it is invalid.
  Value TakeFrame();
  Answer Crashed();

  ChildProcess child_;
  std::string sending_;
  std::size_t sent_ = 0;
  std::string received_;
  std::uint32_t tasks_ = 0;
};

}  // namespace everstep
