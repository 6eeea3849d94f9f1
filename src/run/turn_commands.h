#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "run/execution.h"

namespace everstep {

// What an execution does with the orders that its program gives in a turn.
class Execution::TurnCommands final : public Commands {
 public:
  TurnCommands(Execution& execution, Turn& turn) : execution_(execution), turn_(turn) {}

  bool may_start() const override { return turn_.may_start; }
  void Schedule(ActivityNo no) override {
    // It starts by itself when it gets what it waits for.
    if (execution_.asked_.contains(no) || execution_.missing_.contains(no)) {
      execution_.program_->SetAside(no);
    } else {
      execution_.Schedule(turn_, no, false);
    }
  }
  void Skip(ActivityNo no, std::string_view code, std::string_view reason) override {
    execution_.Skip(turn_, no, code, reason);
  }
  void Finish(ActivityNo no, const TaskOutcome& outcome) override {
    if (outcome.succeeded) {
      execution_.CompleteActivity(turn_, no, outcome);
    } else {
      execution_.FailActivity(turn_, no, outcome);
    }
  }
  void FailToStart(ActivityNo no, const Error& error) override {
    execution_.FailAtStart(turn_, no, error);
  }
  void Withdraw(ActivityNo no) override { execution_.Withdraw(turn_, no); }
  bool Cancel(ActivityNo no, const std::string& reason) override {
    return execution_.CancelActivity(turn_, no, reason);
  }
  void Record(Event event) override {
    event.emitted_at = turn_.now;
    execution_.Emit(turn_, std::move(event));
  }
  void Complete(const std::string& result) override { execution_.Complete(turn_, result); }
  void Fail(std::string_view code, const std::string& message, std::string_view source) override {
    execution_.FailRun(turn_, code, message, source);
  }

 private:
  Execution& execution_;
  Turn& turn_;
};

}  // namespace everstep
