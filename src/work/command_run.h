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

// How a command is run to its end.
struct CommandLimits {
  std::optional<std::chrono::milliseconds> timeout;
  std::chrono::milliseconds grace{5'000};  // from SIGTERM to SIGKILL
  std::size_t output_bytes_max = 4 << 20;  // of each of the two streams; the rest is dropped
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

// Feeds `input` to the process, takes what it writes, and ends it (the whole group: SIGTERM, after
// the grace SIGKILL) when time is over or `stop` asks for it; a forced stop has no grace. When the
// process has ended, what is left of its group is killed. `beat` is called when it writes, at most
// once a second. Blocks; on a thread that does not take SIGPIPE.
CommandOutcome RunCommand(ChildProcess child, std::string_view input, const CommandLimits& limits,
                          StopRequest& stop, const std::function<void()>& beat);

}  // namespace everstep
