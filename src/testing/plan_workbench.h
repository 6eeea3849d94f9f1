#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/random.h"
#include "engine/embedded_log.h"
#include "event/catalogue.h"
#include "run/local_engine.h"
#include "testing/crashing_store.h"
#include "testing/execution_description.h"
#include "testing/manual_clock.h"
#include "testing/scripted_tools.h"

namespace everstep {

// A whole engine on an in-memory store, without threads: the test decides what tools report and
// what time it is. After every step each run is folded from its log again and must equal the live
// one.
class PlanWorkbench : public testing::Test {
 protected:
  PlanWorkbench() {
    options_.on_alert = [this](const Alert& alert) { alerts_.push_back(alert); };
    Open();
  }

  // Opens an engine with the current options on a new store.
  void StartAfresh() {
    engine_.reset();
    disk_ = OpenMemoryStore();
    power_ = std::make_shared<CrashingStore::Power>();
    run_ids_.clear();
    delivered_.clear();
    tools_ = nullptr;
    Open();
  }
  // Simulates a process crash; a new process opens the store.
  void Restart() {
    delivered_.insert(delivered_.end(), tools_->started.begin(), tools_->started.end());
    auto tools = std::make_unique<ScriptedTools>();
    tools->slots = tools_->slots;
    tools->missing = tools_->missing;
    engine_.reset();
    *power_ = {.commits = power_->commits};
    Open(std::move(tools));
  }
  void Open(std::unique_ptr<ScriptedTools> tools = std::make_unique<ScriptedTools>()) {
    tools_ = tools.get();
    EmbeddedLog::Options log_options;
    Clock& clock = watched_ ? static_cast<Clock&>(*watched_) : clock_;
    auto log = std::make_unique<EmbeddedLog>(std::make_unique<CrashingStore>(disk_, power_), clock,
                                             random_, log_options);
    engine_ = std::make_unique<LocalEngine>(
        LocalEngine::Parts{std::move(log), std::move(tools), nullptr, clock, random_, false,
                           tenant_share_, watched_.get(), formats_},
        options_);
    Step();
  }
  void Step() {
    engine_->Step();
    CheckReplay();
  }

  StartRequest RequestOf(const std::string& plan, const std::string& inputs = {}) {
    StartRequest request;
    request.plan = plan;
    request.inputs = inputs;
    request.run_id = "run-" + std::to_string(run_ids_.size() + 1);
    return request;
  }
  Result<StartedRun> TryStart(const StartRequest& request) {
    auto started = engine_->Start(request);
    if (started) run_ids_.push_back(started->run_id);
    Step();
    return started;
  }
  std::string Start(const StartRequest& request) {
    const auto started = TryStart(request);
    EXPECT_TRUE(started) << (started ? "" : ToString(started.error()));
    return started ? started->run_id : std::string();
  }
  std::string Start(const std::string& plan, const std::string& inputs = {}) {
    return Start(RequestOf(plan, inputs));
  }
  // Starts a run of the plan `p` with these steps, a YAML list.
  std::string StartSteps(const std::string& steps, const std::string& inputs = {}) {
    return Start("metadata: {planId: p, planVersion: '1'}\nsteps:\n" + steps, inputs);
  }

  bool IsOpen(const std::string& step) const { return tools_->open.contains(step); }
  const Task& Opened(const std::string& step) const {
    EVERSTEP_ASSERT(IsOpen(step));
    return tools_->open.find(step)->second;
  }
  void Finish(const std::string& step, const std::string& result = "null") {
    ASSERT_TRUE(IsOpen(step)) << step << " is not under way";
    tools_->Finish(step, TaskOutcome::Success(result));
    Step();
  }
  void Fail(const std::string& step, const std::string& code = "BROKEN", bool retryable = true) {
    ASSERT_TRUE(IsOpen(step)) << step << " is not under way";
    tools_->Finish(step, TaskOutcome::Failure(code, "it broke", retryable));
    Step();
  }
  void AdvanceClock(std::chrono::milliseconds by) {
    clock_.Advance(by);
    Step();
  }

  SignalRequest SignalOf(const std::string& run, const std::string& type,
                         const std::string& payload = {}) {
    SignalRequest request;
    request.run_id = run;
    request.type = type;
    request.payload = payload;
    request.reason = "a test";
    request.approved_by = "second";
    request.actor = {"tester", {type == "ESCALATE_ALERT" ? "System" : "Admin"}, {}};
    return request;
  }
  Result<SignalDecision> TrySignal(const SignalRequest& request) {
    auto decision = engine_->Signal(request);
    Step();
    return decision;
  }
  SignalDecision Signal(const std::string& run, const std::string& type,
                        const std::string& payload = {}) {
    const auto decision = TrySignal(SignalOf(run, type, payload));
    EXPECT_TRUE(decision) << (decision ? "" : ToString(decision.error()));
    return decision ? *decision : SignalDecision();
  }
  // Returns "" if the order was accepted, otherwise the code of the refusal or error.
  std::string CodeOf(const Result<SignalDecision>& decision) {
    return decision ? decision->code : std::string(Name(decision.error().code));
  }
  std::string Deliver(const std::string& token, const std::string& payload,
                      const std::string& delivery_id = {}) {
    const auto run = engine_->Deliver({"default", token, payload, delivery_id});
    Step();
    return run ? *run : std::string(Name(run.error().code));
  }

  std::string FailHook(const std::string& token, const std::string& code,
                       const std::string& delivery_id = {}, bool retryable = true) {
    HookDelivery delivery{"default", token, {}, delivery_id, HookDelivery::Kind::kFailure};
    delivery.error_code = code;
    delivery.error_message = "it went wrong";
    delivery.retryable = retryable;
    const auto run = engine_->Deliver(delivery);
    Step();
    return run ? *run : std::string(Name(run.error().code));
  }
  std::string Beat(const std::string& token) {
    const auto run = engine_->Deliver({"default", token, {}, {}, HookDelivery::Kind::kHeartbeat});
    Step();
    return run ? *run : std::string(Name(run.error().code));
  }

  RunView View(const std::string& run) {
    auto view = engine_->View(run);
    EXPECT_TRUE(view) << (view ? "" : ToString(view.error()));
    return view ? *view : RunView();
  }
  std::string StatusOf(const std::string& run) { return View(run).status; }
  StepView StepOf(const std::string& run, const std::string& step) {
    for (StepView& view : View(run).steps) {
      if (view.step_id == step) return view;
    }
    return {};
  }
  std::string StepStatus(const std::string& run, const std::string& step) {
    return StepOf(run, step).status;
  }
  std::vector<Event> Events(const std::string& run) {
    const auto reader = engine_->store().Read();
    const auto stored = reader->FindRun(RunId(run));
    if (!stored || !*stored) return {};
    auto events = reader->ReadEvents(**stored, {.limit = 100'000});
    return events ? *events : std::vector<Event>();
  }
  // "RunQueued RunStarted StepStarted(a) …"
  std::string Log(const std::string& run) {
    std::string text;
    for (const Event& event : Events(run)) {
      if (!text.empty()) text += ' ';
      text += SpecOf(event.type).name;
      if (SpecOf(event.type).entity == EntityKind::kStep) text += "(" + event.entity_id + ")";
    }
    return text;
  }
  Explanation Why(const std::string& run) {
    auto why = engine_->Why(run);
    EXPECT_TRUE(why) << (why ? "" : ToString(why.error()));
    return why ? *why : Explanation();
  }

  // Checks the replay property.
  void CheckReplay() {
    if (engine_->stopped()) return;
    for (const std::string& run : run_ids_) {
      engine_->Post(RunId(run), {RunId(run), LookOrder{[this, run](Result<const Execution*> live) {
                                   if (!live) return;
                                   CheckFold(**live);
                                 }}});
    }
    engine_->Step();
  }

  std::vector<std::shared_ptr<const ProgramFormat>> formats_;  // set before the engine opens
  std::uint32_t tenant_share_ = 100;                           // likewise
  ManualClock clock_;
  std::unique_ptr<WatchedClock> watched_;  // the engine's clock, if set before it opens
  SeededRandom random_{1};
  EngineOptions options_;
  std::shared_ptr<StateStore> disk_ = OpenMemoryStore();
  std::shared_ptr<CrashingStore::Power> power_ = std::make_shared<CrashingStore::Power>();
  ScriptedTools* tools_ = nullptr;
  std::unique_ptr<LocalEngine> engine_;
  std::vector<std::string> run_ids_;
  std::vector<Task> delivered_;  // to processes that have ended
  std::vector<Alert> alerts_;

 private:
  // The run folded from its log, and the run decoded from what it encodes, stand where it stands.
  void CheckFold(const Execution& live) {
    Execution folded(live.run_id(), live.compiled(), *tools_, {});
    folded.SetScope(live.scope());
    for (const Event& event : Events(live.run_id().value())) folded.Apply(event);
    const std::string state = live.Encode();
    EXPECT_EQ(DescriptionOf(live), DescriptionOf(folded)) << live.run_id().value();
    EXPECT_EQ(state, folded.Encode()) << live.run_id().value() << " is not what its log says";
    Execution decoded(live.run_id(), live.compiled(), *tools_, {});
    decoded.SetScope(live.scope());
    EXPECT_TRUE(decoded.Decode(state)) << live.run_id().value();
    EXPECT_EQ(DescriptionOf(live), DescriptionOf(decoded)) << live.run_id().value();
    EXPECT_EQ(state, decoded.Encode()) << live.run_id().value() << " is not what it encoded";
  }
};

}  // namespace everstep
