#pragma once

#include <chrono>

namespace everstep::cli {

// From now on SIGINT and SIGTERM only leave a mark, and a closed pipe is an error of a write
// instead of the program's death. A second SIGINT or SIGTERM ends the program at once. Those that
// come within kSameInterrupt of one that counted are the same one: a terminal or timeout(1) may
// deliver it twice.
inline constexpr std::chrono::milliseconds kSameInterrupt{500};
void CatchInterrupts();

// For a command that has an answer to more than the first: the program ends at once with the one
// behind the `count`-th.
void AnswerInterrupts(int count);

// From now on SIGHUP does not end the program but wakes WaitForInput.
void CatchHangups();
// Whether one has come since the last call.
bool TakeHangup();

bool Interrupted();
int InterruptCount();

// Waits until `stream` (-1: none) has something to read or has ended, the time is up, or an
// interrupt came. True: there is something to read. A negative time is endless.
bool WaitForInput(int stream, std::chrono::milliseconds time);

}  // namespace everstep::cli
