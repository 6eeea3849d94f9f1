#pragma once

#include <span>

#include "arguments.h"

namespace everstep::cli {

// Each is defined in the file of its command or group of commands.
extern const Command kRun;
extern const Command kStart;
extern const Command kServe;
extern const Command kConfigCheck;
extern const Command kConfigTable;
extern const Command kLs;
extern const Command kShow;
extern const Command kEvents;
extern const Command kTimeline;
extern const Command kWhy;
extern const Command kSignal;
extern const Command kApprove;
extern const Command kDeliver;
extern const Command kReplay;
extern const Command kOutbox;
extern const Command kSinkSet;
extern const Command kSinkShow;
extern const Command kSinkPause;
extern const Command kSinkResume;
extern const Command kSinkRemove;
extern const Command kDlqList;
extern const Command kDlqShow;
extern const Command kDlqReplay;
extern const Command kDlqPurge;
extern const Command kPlanCheck;
extern const Command kPlanGraph;
extern const Command kTokenCreate;
extern const Command kTokenList;
extern const Command kTokenRevoke;
extern const Command kTokenRotate;
extern const Command kAuditVerify;
extern const Command kDoctor;
extern const Command kSecretSet;
extern const Command kSecretList;
extern const Command kSecretRemove;
extern const Command kLogAppend;
extern const Command kLogRead;
extern const Command kLogSnapshot;
extern const Command kLogTimeline;
extern const Command kLogRuns;
extern const Command kLogVerify;
extern const Command kLogBackup;
extern const Command kLogRestore;
extern const Command kLogSalvage;
extern const Command kLogCompact;
extern const Command kLogRetain;
extern const Command kLogHealth;
extern const Command kCompletion;
extern const Command kDemo;
extern const Command kBenchAppend;
extern const Command kBenchRun;
extern const Command kBenchServe;
extern const Command kBenchBus;
extern const Command kBenchLoad;
extern const Command kVersion;
extern const Command kHelp;

// All commands, in the order in which the help lists them.
inline constexpr const Command* kCommands[] = {
    &kRun,        &kStart,       &kServe,       &kConfigCheck, &kConfigTable,  &kLs,
    &kShow,       &kEvents,      &kTimeline,    &kWhy,         &kSignal,       &kApprove,
    &kDeliver,    &kReplay,      &kOutbox,      &kSinkSet,     &kSinkShow,     &kSinkPause,
    &kSinkResume, &kSinkRemove,  &kDlqList,     &kDlqShow,     &kDlqReplay,    &kDlqPurge,
    &kPlanCheck,  &kPlanGraph,   &kSecretSet,   &kSecretList,  &kSecretRemove, &kLogAppend,
    &kLogRead,    &kLogSnapshot, &kLogTimeline, &kLogRuns,     &kLogVerify,    &kLogBackup,
    &kLogRestore, &kLogSalvage,  &kLogCompact,  &kLogRetain,   &kLogHealth,    &kTokenCreate,
    &kTokenList,  &kTokenRevoke, &kTokenRotate, &kAuditVerify, &kDoctor,       &kCompletion,
    &kDemo,       &kBenchAppend, &kBenchRun,    &kBenchServe,  &kBenchBus,     &kBenchLoad,
    &kVersion,    &kHelp,
};

}  // namespace everstep::cli
