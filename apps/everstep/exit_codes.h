#pragma once

#include <cstdint>

#include "everstep/error.h"

namespace everstep::cli {

// The exit codes of the program. They are stable and listed in docs/cli.md.
enum class ExitCode : std::uint8_t {
  kOk = 0,
  kRefused = 1,        // an event or signal was refused by the rules of its run
  kRunFailed = 1,      // the run FAILED
  kUsage = 2,          // invalid command line
  kBadInput = 3,       // an event is not JSON or does not match its schema
  kNotFound = 4,       // the run, store or backup does not exist
  kStore = 5,          // locked, full, corrupt, of a newer format, I/O
  kIndeterminate = 6,  // a write may or may not be durable
  kFaults = 7,         // a verification found faults
  kRunCancelled = 8,   // the run was CANCELLED
  kRunPaused = 9,      // the run is PAUSED; the same command resumes it
  kUnavailable = 10,   // the server is unreachable or temporarily unavailable
  kNotAllowed = 11,    // the token is missing, invalid or lacks the permission
  kAddressInUse = 12,  // another process listens at the server's address
  kForced = 13,        // serve: requests or steps were in flight when drainTimeout expired
  kNoResources = 14,   // out of memory or threads
  kInterrupted = 130,  // SIGINT, SIGTERM, or the reader of the answers is gone
};

// The exit code for an event that was not appended.
ExitCode ExitCodeOfAnswer(ErrorCode code);

// The exit code for a command that failed.
ExitCode ExitCodeOf(ErrorCode code);

// Returns the more serious of two outcomes: the one that leaves more in doubt.
ExitCode Worse(ExitCode one, ExitCode other);

}  // namespace everstep::cli
