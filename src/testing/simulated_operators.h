#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "testing/simulated_engine.h"

namespace everstep {

// The people and systems around a simulated engine: they start runs, send signals, answer hooks,
// and report the answers they got to the witness. Not thread-safe.
class SimulatedOperators {
 public:
  using Say = std::function<void(const std::string&)>;

  SimulatedOperators(SeededRandom& random, SimulatedEngine& world, EngineWitness& witness,
                     EngineBug bug, Say say)
      : random_(random), world_(world), witness_(witness), bug_(bug), say_(std::move(say)) {}

  void StartRun();    // a new one or, sometimes, a repeated request
  void SendSignal();  // any signal to any run; sometimes a repeated one
  void AnswerHook();
  void ApproveRun();
  // Releases what keeps runs from going on: paused runs, held steps, hooks, approvals.
  void LetGo();

  std::optional<RunId> AnyRun();
  std::uint64_t signals() const { return signals_; }
  std::uint64_t deliveries() const { return deliveries_; }

 private:
  SignalRequest RandomSignal(const RunWitness& run);
  std::string AnyUnit(const RunWitness& run);
  void Send(const SignalRequest& request);
  void Order(const RunId& run_id, const std::string& type, const std::string& step_id);
  void Deliver(const HookDelivery& delivery);
  void Approve(const RunId& run_id);

  SeededRandom& random_;
  SimulatedEngine& world_;
  EngineWitness& witness_;
  const EngineBug bug_;
  const Say say_;
  std::vector<StartRequest> started_;
  std::vector<SignalRequest> sent_;
  std::vector<HookDelivery> delivered_;
  std::uint64_t signals_ = 0;
  std::uint64_t deliveries_ = 0;
  std::uint64_t names_ = 0;
};

}  // namespace everstep
