#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "everstep/engine.h"
#include "run/execution.h"

namespace everstep {

// The signals of the contract: who may send each, and what it requires.
struct SignalRule {
  std::string_view type;
  std::string_view role;  // the lowest role that may send it
  bool destructive;       // needs a reason; raises a P1 alert
  std::string_view help;  // for users
};
std::span<const SignalRule> SignalRules();

// The verdict of the checks that do not depend on the run: first the payload, then the sender.
// JudgeSignal returns kSignalInvalidPayload for an unknown signal, id or payload; nothing is
// recorded then.
struct SignalVerdict {
  SignalOrder order;  // with the record of the decision
  bool allowed = true;
  std::string decision = "ACCEPTED";  // ACCEPTED, REJECTED, REVISION_REQUIRED
  std::string code;                   // if refused
  std::string reason;
  bool destructive = false;
};
Result<SignalVerdict> JudgeSignal(const SignalRequest& request,
                                  const std::vector<std::string>& to_approve, Timestamp now,
                                  Random& random);

// The answer to a repetition of an order that was already decided.
SignalDecision RepeatOf(const std::string& signal_id, const RunProgress::Decided& decided);

// The record of an order that passed JudgeSignal but was refused because of the state of the run.
std::string RejectedRecord(const SignalRequest& request, const SignalOrder& order,
                           const OrderRefusal& refusal, Timestamp now, Random& random);

}  // namespace everstep
