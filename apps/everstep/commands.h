#pragma once

#include <span>

#include "arguments.h"

namespace everstep::cli {

// Each in a file of its own.
extern const Command kLogAppend;
extern const Command kLogRead;
extern const Command kLogSnapshot;
extern const Command kLogTimeline;
extern const Command kLogRuns;
extern const Command kLogVerify;
extern const Command kLogBackup;
extern const Command kLogRestore;
extern const Command kLogCompact;
extern const Command kLogRetain;
extern const Command kLogHealth;
extern const Command kDemo;
extern const Command kBenchAppend;
extern const Command kVersion;
extern const Command kHelp;

// All of them, in the order in which the help shows them.
inline constexpr const Command* kCommands[] = {
    &kLogAppend, &kLogRead,   &kLogSnapshot, &kLogTimeline, &kLogRuns,
    &kLogVerify, &kLogBackup, &kLogRestore,  &kLogCompact,  &kLogRetain,
    &kLogHealth, &kDemo,      &kBenchAppend, &kVersion,     &kHelp,
};

}  // namespace everstep::cli
