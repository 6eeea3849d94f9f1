#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "testing/plan_workbench.h"

// The process ends at any commit, with or without that commit on disk, and the next one continues.

namespace everstep {
namespace {

using Attempt = std::pair<std::string, std::uint32_t>;  // run and step; logical attempt

class PlanRunRecoveryTest : public PlanWorkbench {
 protected:
  struct Script {
    std::string steps;
    std::set<Attempt> failures;  // step and attempt
    std::string cancel_when;     // cancel the run once this step is open
    std::string status;
  };

  // Drives the run to its end, restarting the engine whenever its store has stopped.
  void Drive(const std::string& run, const Script& script) {
    for (int turns = 0; turns < 2000; ++turns) {
      if (engine_->stopped()) Restart();
      const auto view = engine_->View(run);
      if (!view) {
        Restart();
        continue;
      }
      if (view->status == "COMPLETED" || view->status == "FAILED" || view->status == "CANCELLED") {
        return;
      }
      if (!DoOne(run, script)) Sleep();
    }
    ADD_FAILURE() << "the run does not end: " << Why(run).summary;
  }

  bool DoOne(const std::string& run, const Script& script) {
    if (!script.cancel_when.empty() && IsOpen(script.cancel_when) && !cancelled_) {
      SignalRequest request = SignalOf(run, "CANCEL");
      request.signal_id = "stop";
      const auto decision = engine_->Signal(request);
      cancelled_ = decision.has_value();
      Step();
      return true;
    }
    if (tools_->open.empty()) return AnswerHook(run);
    const std::string step = tools_->open.begin()->first;
    const Task& task = tools_->open.begin()->second;
    const bool asked = std::ranges::any_of(tools_->cancelled,
                                           [&](const auto& stop) { return stop.first == task.id; });
    const bool fails = script.failures.contains({step, task.id.logical_attempt});
    tools_->Finish(step, asked   ? TaskOutcome::Failure("CANCELLED", "", false)
                         : fails ? TaskOutcome::Failure("BROKEN", "", true)
                                 : TaskOutcome::Success(R"({"n":1})"));
    Step();
    return true;
  }

  bool AnswerHook(const std::string& run) {
    for (const StepView& step : View(run).steps) {
      if (step.hook_token.empty()) continue;
      (void)engine_->Deliver({"default", step.hook_token, R"({"approved":true})", {}});
      Step();
      return true;
    }
    return false;
  }

  void Sleep() {
    const Timestamp next = engine_->Step();
    if (next > clock_.Now()) clock_.Advance(next - clock_.Now());
    Step();
  }

  std::vector<Task> AllDeliveries() {
    std::vector<Task> tasks = delivered_;
    tasks.insert(tasks.end(), tools_->started.begin(), tools_->started.end());
    return tasks;
  }

  // All deliveries of a logical attempt have the same idempotency key and inputs, and each has a
  // higher engine attempt than the one before.
  void ExpectDeliveriesInOrder() {
    std::map<Attempt, Task> last;
    for (const Task& task : AllDeliveries()) {
      const Attempt attempt{task.id.run_id.value() + "/" + task.id.step_id,
                            task.id.logical_attempt};
      const auto before = last.find(attempt);
      if (before != last.end()) {
        EXPECT_EQ(task.idempotency_key, before->second.idempotency_key) << attempt.first;
        EXPECT_GT(task.id.engine_attempt, before->second.id.engine_attempt) << attempt.first;
        EXPECT_EQ(task.inputs, before->second.inputs) << attempt.first;
      }
      last.insert_or_assign(attempt, task);
    }
  }

  // What the run did, independently of crashes: its events without redeliveries.
  std::multiset<std::string> Deeds(const std::string& run) {
    std::multiset<std::string> deeds;
    std::set<std::string> complete;
    for (const Event& event : Events(run)) {
      const bool step = SpecOf(event.type).entity == EntityKind::kStep;
      const std::string unit = event.entity_id;
      if (event.type == EventType::kStepStarted) {
        EXPECT_FALSE(complete.contains(unit)) << unit << " ran again after its end";
        if (event.engine_attempt > 1) continue;
      }
      if (event.type == EventType::kStepCompleted) complete.insert(unit);
      deeds.insert(std::string(SpecOf(event.type).name) +
                   (step ? unit + "#" + std::to_string(event.logical_attempt) : ""));
    }
    return deeds;
  }

  std::string RunOnce(const Script& script) {
    cancelled_ = false;
    StartRequest request =
        RequestOf("metadata: {planId: p, planVersion: '1'}\nsteps:\n" + script.steps);
    request.run_id = "run-1";
    for (int tries = 0; tries < 3; ++tries) {
      const auto started = engine_->Start(request);
      if (started) break;
      Restart();
    }
    if (run_ids_.empty()) run_ids_.push_back(request.run_id);
    Drive(request.run_id, script);
    return request.run_id;
  }

  void CrashAtEveryCommit(const Script& script) {
    StartAfresh();
    std::string run = RunOnce(script);
    EXPECT_EQ(StatusOf(run), script.status);
    const auto deeds = Deeds(run);
    const std::uint64_t commits = power_->commits;
    ASSERT_GT(commits, 2U);
    for (std::uint64_t at = 0; at < commits; ++at) {
      for (const bool written : {false, true}) {
        SCOPED_TRACE("after " + std::to_string(at) + (written ? " commits and one" : " commits"));
        StartAfresh();
        power_->fails_after = at;
        power_->last_is_written = written;
        run = RunOnce(script);
        EXPECT_EQ(StatusOf(run), script.status);
        const auto deeds_now = Deeds(run);
        if (script.cancel_when.empty()) {
          EXPECT_EQ(deeds_now, deeds);
        }
        ExpectDeliveriesInOrder();
        if (HasFailure()) return;
      }
    }
  }

  bool cancelled_ = false;
};

TEST_F(PlanRunRecoveryTest, SequentialSteps) {
  CrashAtEveryCommit({R"(
  - {stepId: a}
  - {stepId: b, kind: http}
  - {stepId: c, kind: echo, inputs: {n: "{{ steps.b.result.n }}"}}
)",
                      {},
                      {},
                      "COMPLETED"});
}

TEST_F(PlanRunRecoveryTest, BranchesRetriesAndAFallback) {
  CrashAtEveryCommit({R"(
  - {stepId: a, kind: http, dependsOn: [], retryPolicy: {maxAttempts: 3, initialDelay: 1s}}
  - {stepId: b, kind: http, onFailure: {fallback: f}}
  - {stepId: f, kind: http}
  - {stepId: skipped, when: "false"}
  - {stepId: c, kind: http, dependsOn: [a, b, skipped], onFailure: continue}
  - {stepId: d, dependsOn: [c]}
)",
                      {{"a", 1}, {"a", 2}, {"b", 1}, {"c", 1}},
                      {},
                      "COMPLETED"});
}

TEST_F(PlanRunRecoveryTest, LoopsOfToolsWaitsAndChildren) {
  CrashAtEveryCommit({R"(
  - stepId: a
    kind: http
    foreach: {items: "{{ [1, 2, 3] }}", maxInFlight: 2}
    retryPolicy: {maxAttempts: 2, initialDelay: 1s}
  - {stepId: w, foreach: {items: "{{ [1, 2] }}"}, waitFor: {duration: "{{ item }}s"},
       dependsOn: [a]}
  - {stepId: c, foreach: {items: "{{ [1, 2] }}"}, dependsOn: [a],
       plan: {metadata: {planId: c, planVersion: "1"}, steps: [{stepId: x, kind: http}]}}
  - {stepId: end, dependsOn: [w, c]}
)",
                      {{"a:1", 1}},
                      {},
                      "COMPLETED"});
}

TEST_F(PlanRunRecoveryTest, WaitsHooksAndApprovals) {
  CrashAtEveryCommit({R"(
  - {stepId: w, waitFor: {duration: 5s}}
  - {stepId: h, waitFor: {hook: {token: mine, timeout: 1h}}}
  - {stepId: k, waitFor: {approval: {}}}
  - {stepId: end, kind: http}
)",
                      {},
                      {},
                      "COMPLETED"});
}

TEST_F(PlanRunRecoveryTest, FailureWithCompensation) {
  CrashAtEveryCommit({R"(
  - {stepId: a, kind: http,
       compensate: {kind: http, retryPolicy: {maxAttempts: 2, initialDelay: 1s}}}
  - {stepId: l, kind: http, foreach: {items: "{{ [1, 2] }}"}, compensate: {kind: http}}
  - {stepId: b, kind: http}
  - {stepId: c}
)",
                      {{"b", 1}, {"a:undo", 1}, {"l:0:undo", 1}},
                      {},
                      "FAILED"});
}

TEST_F(PlanRunRecoveryTest, CancelWithChildrenAndCompensation) {
  CrashAtEveryCommit({R"(
  - {stepId: a, kind: http, compensate: {kind: http}}
  - {stepId: c, dependsOn: [a], plan: {metadata: {planId: c, planVersion: "1"},
       steps: [{stepId: x, kind: http}]}}
  - {stepId: b, kind: http, dependsOn: [a]}
  - {stepId: h, dependsOn: [a], waitFor: {hook: {token: mine}}}
)",
                      {},
                      "b",
                      "CANCELLED"});
}

TEST_F(PlanRunRecoveryTest, ARunningTaskIsRedeliveredWithTheSameKey) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n  - {stepId: b, kind: http}\n");
  Finish("a");
  const Task first = Opened("b");
  Restart();
  EXPECT_FALSE(IsOpen("a")) << "completed steps never run again";
  EXPECT_EQ(Opened("b").id.logical_attempt, 1U);
  EXPECT_EQ(Opened("b").id.engine_attempt, 2U);
  EXPECT_EQ(Opened("b").idempotency_key, first.idempotency_key);
  tools_->Report(first.id, TaskOutcome::Success("1"));
  Step();
  EXPECT_EQ(StatusOf(run), "RUNNING") << "a report to the previous process is stale";
  Finish("b");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunRecoveryTest, APausedRunDeliversNothingUntilItIsResumed) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n");
  Signal(run, "PAUSE");
  Restart();
  EXPECT_TRUE(tools_->open.empty());
  Signal(run, "RESUME");
  EXPECT_EQ(Opened("a").id.engine_attempt, 2U);
}

TEST_F(PlanRunRecoveryTest, TimersThatFellDueMeanwhileFire) {
  const std::string run = StartSteps("  - {stepId: a, waitFor: {duration: 1h}}\n");
  clock_.Advance(std::chrono::hours(2));
  Restart();
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunRecoveryTest, CancelledTasksAreNotRedelivered) {
  const std::string run = StartSteps(R"(
  - {stepId: a, kind: http, dependsOn: []}
  - {stepId: b, kind: http, cancellable: false}
)");
  Signal(run, "CANCEL");
  Restart();
  EXPECT_FALSE(IsOpen("a"));
  ASSERT_TRUE(IsOpen("b")) << "not cancellable";
  Finish("b");
  EXPECT_EQ(StatusOf(run), "CANCELLED");
}

TEST_F(PlanRunRecoveryTest, APassiveEngineTakesSignalsAndStartsNothing) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n");
  const std::string other = StartSteps(
      "  - {stepId: a, kind: http, compensate: {kind: http}}\n"
      "  - {stepId: b, kind: http}\n");
  tools_->Report({RunId(other), "a", 1, 1}, TaskOutcome::Success("1"));
  Step();
  options_.passive = true;
  Restart();
  EXPECT_TRUE(tools_->open.empty());
  Signal(run, "CANCEL");
  EXPECT_EQ(StatusOf(run), "CANCELLED");
  Signal(other, "CANCEL");
  EXPECT_EQ(StatusOf(other), "RUNNING") << "its compensation needs an engine";
  const std::string third = StartSteps("  - {stepId: a, kind: http}\n");
  EXPECT_EQ(StatusOf(third), "PENDING");
  options_.passive = false;
  Restart();
  EXPECT_TRUE(IsOpen("a:undo"));
  EXPECT_EQ(StatusOf(third), "RUNNING");
}

TEST_F(PlanRunRecoveryTest, AHeldStepIsStillHeld) {
  const std::string run = StartSteps("  - {stepId: a, kind: http, onFailure: hold}\n");
  Fail("a", "BROKEN", false);
  Restart();
  EXPECT_TRUE(tools_->open.empty());
  Signal(run, "RETRY_STEP", R"({"stepId":"a"})");
  Finish("a");
  EXPECT_EQ(StatusOf(run), "COMPLETED");
}

TEST_F(PlanRunRecoveryTest, WaitingCallersAreAnsweredWhenTheEngineEnds) {
  std::vector<std::string> answers;
  const RunId run("run-1");
  engine_->Post(run, {run, LookOrder{[&answers](Result<const Execution*> seen) {
                        answers.emplace_back(seen ? "seen" : Name(seen.error().code));
                      }}});
  engine_.reset();
  EXPECT_EQ(answers, std::vector<std::string>{"ENGINE_STOPPED"});
}

}  // namespace
}  // namespace everstep
