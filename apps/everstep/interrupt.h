#pragma once

#include <chrono>

namespace everstep::cli {

// From now on the first SIGINT or SIGTERM is only counted and the second ends the process at once.
// Writing to a closed pipe returns an error instead of ending the process. Signals within
// kSameInterrupt after a counted one are ignored: a terminal or timeout(1) may deliver the same one
// twice.
inline constexpr std::chrono::milliseconds kSameInterrupt{500};
void CatchInterrupts();

// For commands that handle more than the first interrupt: the process ends at once with the one
// after the `count`-th.
void AnswerInterrupts(int count);

// From now on SIGHUP wakes WaitForInput instead of ending the process.
void CatchHangups();
// Returns whether a SIGHUP has arrived since the last call.
bool TakeHangup();

bool Interrupted();
int InterruptCount();

// Waits until `stream` (-1: none) is readable or at its end, `time` has passed, or a signal has
// arrived. A negative `time` waits forever. Returns true if the stream is readable or at its end
// and there was no interrupt.
bool WaitForInput(int stream, std::chrono::milliseconds time);

}  // namespace everstep::cli
