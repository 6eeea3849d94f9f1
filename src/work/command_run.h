#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "work/child_process.h"
#include "work/stop_request.h"

namespace everstep {

// Limits for running a command.
struct CommandLimits {
  std::optional<std::chrono::milliseconds> timeout;
  std::chrono::milliseconds grace{5'000};  // from SIGTERM to SIGKILL
  std::size_t output_bytes_max = 4 << 20;  // for each of the two streams; the rest is dropped
};

struct CapturedText {
  std::string bytes;
  bool truncated = false;
};

struct CommandOutcome {
  enum class End : std::uint8_t { kExited, kSignalled, kTimedOut, kStopped };
  End end = End::kExited;
  int number = 0;  // exit code or signal
  CapturedText output;
  CapturedText errors;
};

// Writes `input` to the process and captures its output until it ends. On a timeout or a stop
// request, sends SIGTERM to the whole group, and SIGKILL after the grace period; a forced stop has
// no grace period. After the process has ended, the rest of its group is killed. `beat` is called
// when the process writes, at most once a second. Blocks. Requires: SIGPIPE is blocked or ignored
// on this thread.
CommandOutcome RunCommand(ChildProcess child, std::string_view input, const CommandLimits& limits,
                          StopRequest& stop, const std::function<void()>& beat);

}  // namespace everstep
