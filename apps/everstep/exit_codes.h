#pragma once

#include <cstdint>

#include "everstep/error.h"

namespace everstep::cli {

// What the program answers to its shell. Stable; docs/cli.md lists them.
enum class ExitCode : std::uint8_t {
  kOk = 0,
  kRefused = 1,        // an event or order was refused by the rules of its run
  kRunFailed = 1,      // the run that was to be run FAILED
  kUsage = 2,          // the command line cannot be understood
  kBadInput = 3,       // an event is not JSON or does not fit its schema
  kNotFound = 4,       // there is no such run, store or backup
  kStore = 5,          // locked, full, corrupt, of a newer format, I/O
  kIndeterminate = 6,  // a write may or may not be durable
  kFaults = 7,         // verify found something wrong
  kRunCancelled = 8,   // the run was CANCELLED
  kRunPaused = 9,      // the run is PAUSED; the same command goes on with it
  kUnavailable = 10,   // the server cannot be reached, or answers that it cannot for now
  kNotAllowed = 11,    // the token is missing, not valid, or does not allow it
  kAddressInUse = 12,  // another process listens where the server was to
  kForced = 13,        // serve: ended with requests or steps under way, when drainTimeout was over
  kNoResources = 14,   // the machine gives no memory or no threads
  kInterrupted = 130,  // SIGINT, SIGTERM, or nobody reads the answers any more
};

// Of an event that was not appended.
ExitCode ExitCodeOfAnswer(ErrorCode code);

// Of a command that could not do what it was told.
ExitCode ExitCodeOf(ErrorCode code);

// The one of two outcomes that the shell has to hear of: what leaves more in doubt.
ExitCode Worse(ExitCode one, ExitCode other);

}  // namespace everstep::cli
