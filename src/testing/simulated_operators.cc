#include "testing/simulated_operators.h"

#include <iterator>
#include <utility>

#include "testing/random_plan.h"

namespace everstep {
namespace {

constexpr std::size_t kRunsMax = 6;

std::string StepPayload(const std::string& step_id, const std::string& more = {}) {
  return R"({"stepId":")" + step_id + "\"" + (more.empty() ? "" : "," + more) + "}";
}

}  // namespace

void SimulatedOperators::StartRun() {
  StartRequest request;
  if (!started_.empty() && (started_.size() >= kRunsMax || random_.OneIn(4))) {
    request = started_[random_.Below(started_.size())];
  } else {
    SeededRandom same = random_;
    const std::string real = RandomPlan(same);
    request.plan = RandomPlan(random_, OmissionOf(bug_));
    witness_.KnowPlan(request.plan, real);
    say_("plan " + real);
    if (random_.OneIn(2)) {
      request.run_id = "run-" + std::to_string(++names_);
    } else {
      request.request_id = "request-" + std::to_string(++names_);
    }
    if (random_.OneIn(3)) request.inputs = R"({"n":)" + std::to_string(random_.Below(8)) + "}";
    if (random_.OneIn(8)) {
      request.start_at = world_.Now() + std::chrono::milliseconds(random_.Below(20'000));
    }
    started_.push_back(request);
  }
  const auto started = world_.engine().Start(request);
  say_("starts " + request.run_id + request.request_id + ": " +
       (started ? started->run_id + " " + started->status : ToString(started.error())));
  if (started) witness_.AnsweredStart(started->run_id);
}

std::optional<RunId> SimulatedOperators::AnyRun() {
  const auto& runs = witness_.runs();
  if (runs.empty()) return std::nullopt;
  // Prefer one that has not ended.
  for (int tries = 0; tries < 4; ++tries) {
    const auto run =
        std::next(runs.begin(), static_cast<std::ptrdiff_t>(random_.Below(runs.size())));
    if (!IsTerminal(run->second->status())) return run->first;
  }
  return runs.begin()->first;
}

// ---- signals

std::string SimulatedOperators::AnyUnit(const RunWitness& run) {
  const auto& steps = run.plan()->steps;
  const auto step = static_cast<StepIndex>(random_.Below(steps.size()));
  UnitKey key{step};
  if (steps[step].foreach && random_.OneIn(2)) {
    key = {step, UnitKey::Role::kItem, static_cast<std::uint32_t>(random_.Below(5))};
  } else if (steps[step].compensate && random_.OneIn(3)) {
    key = {step, UnitKey::Role::kUndo, 0};
  }
  // Prefer one on which an operator can act.
  if (!run.running().empty() && random_.OneIn(3)) {
    return *std::next(run.running().begin(),
                      static_cast<std::ptrdiff_t>(random_.Below(run.running().size())));
  }
  const auto held = run.Held();
  if (!held.empty() && random_.OneIn(2)) return held[random_.Below(held.size())];
  return UnitId(*run.plan(), key);
}

SignalRequest SimulatedOperators::RandomSignal(const RunWitness& run) {
  SignalRequest request;
  const std::uint64_t draw = random_.Below(100);
  if (draw < 16) {
    request.type = "PAUSE";
  } else if (draw < 40) {
    request.type = "RESUME";
  } else if (draw < 45) {
    request.type = "CANCEL";
    request.payload = R"({"reason":"enough"})";
  } else if (draw < 47) {
    request.type = "EMERGENCY_STOP";
    request.payload = R"({"reason":"fire"})";
  } else if (draw < 65) {
    request.type = "RETRY_STEP";
    request.payload = StepPayload(AnyUnit(run), random_.OneIn(2) ? R"("force":true)" : "");
  } else if (draw < 78) {
    request.type = "SKIP_STEP";
    request.payload = StepPayload(AnyUnit(run));
  } else if (draw < 84) {
    request.type = "UPDATE_PARAMS";
    request.payload = R"({"params":{"n":)" + std::to_string(random_.Below(9)) + "}}";
  } else if (draw < 90) {
    request.type = "INJECT_OVERRIDE";
    request.payload =
        StepPayload(AnyUnit(run), random_.OneIn(2) ? R"("override":{"result":7})"
                                                   : R"("override":{"inputs":{"n":9}})");
  } else if (draw < 94) {
    request.type = "UPDATE_TARGET";
    request.payload = StepPayload(AnyUnit(run), R"("newTarget":{"n":3})");
  } else if (draw < 97) {
    request.type = "ESCALATE_ALERT";
    request.payload = R"({"level":"P1"})";
  } else {
    request.type = "RETRY_RUN";
    if (random_.OneIn(2)) request.payload = R"({"force":true})";
  }
  return request;
}

void SimulatedOperators::SendSignal() {
  if (!sent_.empty() && random_.OneIn(6)) return Send(sent_[random_.Below(sent_.size())]);
  const auto run_id = AnyRun();
  if (!run_id) return;
  // Each RETRY_RUN adds a run.
  SignalRequest request = RandomSignal(*witness_.Find(*run_id));
  if (request.type == "RETRY_RUN" && witness_.runs().size() > 2 * kRunsMax) return;
  request.run_id = run_id->value();
  request.signal_id = "signal-" + std::to_string(++names_);
  if (random_.OneIn(20)) request.actor.roles = {"Viewer"};
  sent_.push_back(request);
  Send(request);
}

void SimulatedOperators::Send(const SignalRequest& request) {
  SignalRequest full = request;
  full.reason = "a simulation";
  full.approved_by = "second";
  full.actor.id = "operator";
  if (full.actor.roles.empty()) full.actor.roles = {"Admin", "System"};
  ++signals_;
  const auto decision = world_.engine().Signal(full);
  say_(full.type + " " + full.payload + " to " + full.run_id + ": " +
       (decision ? decision->decision + " " + decision->code : ToString(decision.error())));
  if (decision) return witness_.AnsweredSignal(full.run_id, *decision);
  if (decision.error().code == ErrorCode::kEngineStopped && !world_.engine().stopped()) {
    witness_.NotAnswered(full.type + " to " + full.run_id);
  }
}

void SimulatedOperators::Order(const RunId& run_id, const std::string& type,
                               const std::string& step_id) {
  SignalRequest request;
  request.run_id = run_id.value();
  request.type = type;
  if (!step_id.empty()) request.payload = StepPayload(step_id);
  request.signal_id = "signal-" + std::to_string(++names_);
  Send(request);
}

// ---- hooks and approvals

void SimulatedOperators::AnswerHook() {
  if (!delivered_.empty() && random_.OneIn(4)) {
    return Deliver(delivered_[random_.Below(delivered_.size())]);
  }
  const auto run_id = AnyRun();
  if (!run_id) return;
  const auto tokens = witness_.Find(*run_id)->Tokens();
  if (tokens.empty()) return;
  HookDelivery delivery;
  delivery.token = tokens[random_.Below(tokens.size())];
  if (random_.OneIn(8)) {
    delivery.kind = HookDelivery::Kind::kHeartbeat;
    return Deliver(delivery);
  }
  delivery.delivery_id = "delivery-" + std::to_string(++names_);
  if (random_.OneIn(4)) {
    delivery.kind = HookDelivery::Kind::kFailure;
    delivery.error_code = "NO_ANSWER";
    delivery.retryable = random_.OneIn(2);
  } else if (random_.OneIn(2)) {
    delivery.payload = random_.OneIn(2) ? R"({"approved":false})" : "7";
  } else if (random_.OneIn(2)) {
    delivery.payload = R"({"approved":true})";
  }
  delivered_.push_back(delivery);
  Deliver(delivery);
}

void SimulatedOperators::Deliver(const HookDelivery& delivery) {
  ++deliveries_;
  const auto taken = world_.engine().Deliver(delivery);
  say_("answers " + delivery.token + ": " + (taken ? *taken : ToString(taken.error())));
  if (taken && delivery.kind != HookDelivery::Kind::kHeartbeat) {
    witness_.AnsweredDelivery(*taken, delivery.delivery_id);
  }
}

void SimulatedOperators::ApproveRun() {
  const auto run_id = AnyRun();
  if (run_id) Approve(*run_id);
}

void SimulatedOperators::Approve(const RunId& run_id) {
  const Status approved = world_.engine().Approve(run_id.value(), {"approver", {"Admin"}, {}}, "");
  say_("approves " + run_id.value() + ": " + (approved ? "yes" : ToString(approved.error())));
}

void SimulatedOperators::LetGo() {
  std::vector<RunId> open;
  for (const auto& [run_id, run] : witness_.runs()) {
    if (!IsTerminal(run->status())) open.push_back(run_id);
  }
  for (const RunId& run_id : open) {
    const RunWitness& run = *witness_.Find(run_id);
    if (run.status() == RunStatus::kPaused) Order(run_id, "RESUME", {});
    if (run.status() == RunStatus::kPending && run.plan()->requires_approval) Approve(run_id);
    for (const std::string& unit_id : run.Held()) {
      Order(run_id, random_.OneIn(3) ? "SKIP_STEP" : "RETRY_STEP", unit_id);
    }
    for (const std::string& token : run.Tokens()) {
      HookDelivery delivery;
      delivery.token = token;
      delivery.payload = R"({"approved":true})";
      delivery.delivery_id = "delivery-" + std::to_string(++names_);
      Deliver(delivery);
    }
  }
}

}  // namespace everstep
