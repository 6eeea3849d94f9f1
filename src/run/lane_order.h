#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "run/execution.h"
#include "run/signal_rules.h"

namespace everstep {

// The orders of a lane. Each is answered once the events that justify its answer are durable.

struct StartOrder {
  std::shared_ptr<const CompiledProgram> program;  // null: that of program_ref
  ProgramRef program_ref{};
  RunOrigin origin;
  std::optional<SignalVerdict> signal{};  // RETRY_RUN: recorded in the new run
  RunId former_id{};  // if the id is derived: the id that earlier versions derived for this run
  std::function<void(Result<StartedRun>)> answer{};
  bool inputs_checked = true;  // false: origin.inputs are what the step of the parent gave
};
struct AdmitOrder {  // a queued run may start
  std::uint64_t epoch = 0;
  bool decided = false;  // as in WaitOrder
};
struct ApproveOrder {
  Actor actor;
  std::string reason;
  std::function<void(Status)> answer{};
};
struct ReportOrder {
  TaskId task;
  TaskOutcome outcome;
  std::function<void(Status)> answer{};
};
struct LostOrder {
  TaskId task;
};
struct TakenOrder {
  TaskId task;
};
struct HeartbeatOrder {
  TaskId task;
};
struct WaitOrder {
  std::string wait_id;
  bool decided = false;  // for the lane: it no longer counts as waiting
};
struct HookOrder {
  HookDelivery delivery;
  std::function<void(Result<std::string>)> answer{};
};
struct SignalCall {
  SignalRequest request;
  SignalVerdict verdict;
  std::function<void(Result<SignalDecision>)> answer{};
};
struct ChildEndOrder {
  Execution::ChildEnd end;
};
struct SlotOrder {
  std::string activity_id;
};
struct TokenOrder {  // the hook's token was taken: the log recorded a conflict instead
  std::string hook_id;
};
struct RecoverOrder {
  bool restored = false;  // posted after a restart: the host must count the run again
  bool goes_on = false;   // the run had more to do than one turn may take
};
struct TickOrder {};
struct LookOrder {
  std::function<void(Result<const Execution*>)> look;
};

struct LaneOrder {
  RunId run_id;
  std::variant<StartOrder, AdmitOrder, ApproveOrder, ReportOrder, LostOrder, TakenOrder,
               HeartbeatOrder, WaitOrder, HookOrder, SignalCall, ChildEndOrder, SlotOrder,
               TokenOrder, RecoverOrder, TickOrder, LookOrder>
      what;
  std::uint32_t tries = 0;
};

}  // namespace everstep
