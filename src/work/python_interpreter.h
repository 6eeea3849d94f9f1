#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flow/value.h"
#include "work/child_process.h"
#include "work/stop_request.h"

namespace everstep {

// A running python3 that takes one task after the other. One thread at a time.
class PythonInterpreter {
 public:
  enum class End : std::uint8_t { kAnswered, kCrashed, kTimedOut, kStopped };
  struct Answer {
    End end = End::kAnswered;
    Value frame;          // of kAnswered
    std::string message;  // of kCrashed
  };
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  // Nothing: python3 could not be started; `reason` is errno.
  static std::unique_ptr<PythonInterpreter> Start(const std::string& path,
                                                  std::vector<std::string> environment,
                                                  int& reason);

  // After any other end than kAnswered the interpreter is of no more use.
  Answer Run(const Value& task, Deadline deadline, StopRequest& stop,
             const std::function<void()>& beat);
  std::uint32_t tasks() const { return tasks_; }

 private:
  explicit PythonInterpreter(ChildProcess child) : child_(std::move(child)) {}

  // Writes what is left to write and reads what there is. False: the pipe is closed.
  bool Exchange();
  // The next whole frame; undefined: not there yet. Null: not a frame.
  Value TakeFrame();
  Answer Crashed();

  ChildProcess child_;
  std::string sending_;
  std::size_t sent_ = 0;
  std::string received_;
  std::uint32_t tasks_ = 0;
};

}  // namespace everstep
