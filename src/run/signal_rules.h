#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "everstep/engine.h"
#include "run/execution.h"

namespace everstep {

// The signals of the contract: what each takes, who may send it, what it needs.
struct SignalRule {
  std::string_view type;
  std::string_view role;  // the least that may send it
  bool destructive;       // needs a reason; raises a P1 alert
  std::string_view help;  // for people
};
std::span<const SignalRule> SignalRules();

// The first two checks of an order, before anything of the run is looked at: its payload, then who
// sends it. kSignalInvalidPayload: nothing of it is recorded.
struct SignalVerdict {
  SignalOrder order;  // with the record of the decision
  bool allowed = true;
  std::string decision = "ACCEPTED";  // ACCEPTED, REJECTED, REVISION_REQUIRED
  std::string code;                   // of a refusal
  std::string reason;
  bool destructive = false;
};
Result<SignalVerdict> JudgeSignal(const SignalRequest& request,
                                  const std::vector<std::string>& to_approve, Timestamp now,
                                  Random& random);

// The answer to an order that was decided before.
SignalDecision RepeatOf(const std::string& signal_id, const RunProgress::Decided& decided);

// The record of a decision that was changed by the state of the run.
std::string RejectedRecord(const SignalRequest& request, const SignalOrder& order,
                           const OrderRefusal& refusal, Timestamp now, Random& random);

}  // namespace everstep
