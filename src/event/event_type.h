#pragma once

#include <cstdint>

namespace everstep {

// The types of events in a run log. Stored as numbers: never reorder or reuse them; append new ones
// at the end.
enum class EventType : std::uint8_t {
  kRunQueued = 1,
  kRunApproved = 2,
  kRunStarted = 3,
  kRunPaused = 4,
  kRunResumed = 5,
  kRunCompleted = 6,
  kRunFailed = 7,
  kRunCancelled = 8,
  kStepScheduled = 9,
  kStepStarted = 10,
  kStepFailed = 11,
  kStepCompleted = 12,
  kStepSkipped = 13,
  kStepDelayed = 14,
  kToolStarted = 15,
  kToolProcessed = 16,
  kLoopStarted = 17,
  kLoopIterationStarted = 18,
  kLoopIterationFinished = 19,
  kLoopFinished = 20,
  kCaseStarted = 21,
  kCaseEvaluated = 22,
  kNextEvaluated = 23,
  kRetryStarted = 24,
  kRetryProcessed = 25,
  kSinkStarted = 26,
  kSinkProcessed = 27,
  kContextUpdated = 28,
  kHookCreated = 29,
  kHookConflict = 30,
  kHookReceived = 31,
  kHookDisposed = 32,
  kWaitCreated = 33,
  kWaitCompleted = 34,
  kSignalAccepted = 35,
  kSignalRejected = 36,
  kErrorRecorded = 37,
  kErrorResolved = 38,
  kErrorUnrecoverable = 39,
  kChildStarted = 40,
  kChildFinished = 41,
};

inline constexpr int kEventTypeCount = 41;

// The kind of entity that an event concerns. Stored as a number, like EventType.
enum class EntityKind : std::uint8_t {
  kRun = 1,
  kStep = 2,
  kTool = 3,
  kLoop = 4,
  kIteration = 5,
  kCase = 6,
  kNext = 7,
  kRetry = 8,
  kSink = 9,
  kContext = 10,
  kHook = 11,
  kWait = 12,
  kSignal = 13,
  kError = 14,
  kChild = 15,
};

}  // namespace everstep
