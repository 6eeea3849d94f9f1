#include <gtest/gtest.h>

#include "flow/plan.h"
#include "testing/plan_text.h"

namespace everstep {
namespace {

TEST(PlanReaderTest, ASmallPlanHasItsDefaults) {
  const auto plan = ReadWell(PlanOf("- {stepId: a}"));
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->plan_id, "p");
  EXPECT_EQ(plan->schema_version, "v1.3");
  EXPECT_EQ(plan->fallback_behavior, "reject");
  EXPECT_FALSE(plan->requires_approval);
  const PlanStep& step = plan->steps.at(0);
  EXPECT_EQ(step.action.kind, "noop");
  EXPECT_FALSE(step.action.inputs.empty());
  EXPECT_TRUE(step.when.empty());
  EXPECT_TRUE(step.action.cancellable);
  EXPECT_EQ(step.action.attempts_max, 1U);
  EXPECT_EQ(plan->Find("a"), 0U);
  EXPECT_EQ(plan->Find("b"), kNoStep);
  EXPECT_EQ(plan->sha256, Sha256(plan->document));
}

TEST(PlanReaderTest, EveryFieldOfAStepIsRead) {
  const auto plan = ReadWell(PlanOf(R"(
- stepId: a
  name: First
  kind: shell
  inputs: {argv: [x]}
  timeout: 5s
  heartbeatTimeout: 1s
  retryPolicy: {maxAttempts: 4, backoff: linear, initialDelay: 10, maxDelay: 1m, jitter: true,
                retryOn: [TIMEOUT]}
  secretRefs: [{name: s, provider: file, key: k, version: "2"}]
  artifacts: ["*.csv"]
  cancellable: false
  queue: q
  priority: -3
  concurrencyKey: c
  idempotencyKey: i
  onFailure: hold
  compensate: {kind: http, inputs: {url: u}, timeout: 1h}
)"));
  ASSERT_NE(plan, nullptr);
  const PlanStep& step = plan->steps[0];
  EXPECT_EQ(step.name, "First");
  EXPECT_EQ(step.action.timeout, Milliseconds(5'000));
  EXPECT_EQ(step.action.heartbeat_timeout, Milliseconds(1'000));
  EXPECT_EQ(step.action.attempts_max, 4U);
  ASSERT_EQ(step.action.retry_rules.size(), 1U);
  const RetryRule& rule = step.action.retry_rules[0];
  EXPECT_EQ(rule.backoff, RetryRule::Backoff::kLinear);
  EXPECT_EQ(rule.initial_delay, Milliseconds(10));
  EXPECT_EQ(rule.max_delay, Milliseconds(60'000));
  EXPECT_EQ(rule.jitter, 1);
  EXPECT_EQ(rule.error_codes, std::vector<std::string>{"TIMEOUT"});
  EXPECT_EQ(step.action.secrets.at(0).key, "k");
  EXPECT_EQ(step.action.secrets.at(0).version, "2");
  EXPECT_EQ(step.action.artifacts, std::vector<std::string>{"*.csv"});
  EXPECT_FALSE(step.action.cancellable);
  EXPECT_EQ(step.action.queue, "q");
  EXPECT_EQ(step.action.priority, -3);
  EXPECT_FALSE(step.action.concurrency_key.empty());
  EXPECT_FALSE(step.action.idempotency_key.empty());
  EXPECT_EQ(step.on_failure, PlanStep::OnFailure::kHold);
  ASSERT_TRUE(step.compensate);
  EXPECT_EQ(step.compensate->kind, "http");
  EXPECT_EQ(step.compensate->timeout, Milliseconds(3'600'000));
  EXPECT_EQ(step.compensate->secrets.size(), 1U) << "it inherits the step's secrets";
}

TEST(PlanReaderTest, WaitsAndChildrenHaveTheirKinds) {
  const auto plan = ReadWell(PlanOf(R"(
- {stepId: a, waitFor: {duration: 5m}}
- {stepId: b, kind: wait, waitFor: {until: "2030-01-01T00:00:00Z"}}
- {stepId: c, waitFor: {hook: {}}}
- {stepId: d, waitFor: {approval: {prompt: sure?, timeout: 1d}}}
- {stepId: e, plan: other.yaml}
- {stepId: f, plan: {uri: other.yaml, sha256: )" +
                                    std::string(64, 'a') + R"(}}
- stepId: g
  plan: {metadata: {planId: c, planVersion: "1"}, steps: [{stepId: x}]}
)"));
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->steps[0].action.kind, "wait");
  EXPECT_EQ(plan->steps[1].wait_for->kind, WaitFor::Kind::kUntil);
  EXPECT_EQ(plan->steps[2].wait_for->kind, WaitFor::Kind::kHook);
  EXPECT_EQ(plan->steps[3].wait_for->timeout, Milliseconds(86'400'000));
  EXPECT_EQ(plan->steps[4].action.kind, "plan");
  EXPECT_EQ(plan->steps[4].child->reference, "other.yaml");
  EXPECT_EQ(plan->steps[5].child->sha256, std::string(64, 'a'));
  EXPECT_EQ(plan->steps[6].child->document,
            R"({"metadata":{"planId":"c","planVersion":"1"},"steps":[{"stepId":"x"}]})");
  EXPECT_TRUE(ReadPlan(plan->steps[6].child->document));
}

TEST(PlanReaderTest, AllFaultsAreReportedAtOnceInDocumentOrder) {
  EXPECT_EQ(
      FaultsOf("metadata: {planId: p, planVersion: 1.10}\n"
               "steps:\n"
               "  - {stepId: a, dependson: [b]}\n"
               "  - {stepId: 'b:1', timeout: soon}\n"
               "  - {kind: echo, inputs: text}\n"),
      "1:36 /metadata/planVersion: 'planVersion' must be text, not a number; put it in quotes\n"
      "3:17 /steps/0/dependson: there is no field 'dependson' here; did you mean 'dependsOn'?\n"
      "4:14 /steps/1/stepId: 'stepId' must be 1 to 100 letters, digits, '.', '_' and '-', and "
      "begin with a letter or digit\n"
      "4:30 /steps/1/timeout: 'timeout' is not a duration; write \"250ms\", \"30s\", "
      "\"1h30m\", \"2d\", an ISO 8601 duration such as \"PT30S\", or whole milliseconds, up to "
      "100 years\n"
      "5:5 /steps/2: 'stepId' is missing: each step needs a unique name\n"
      "5:26 /steps/2/inputs: 'inputs' must be a map, not text\n");
}

TEST(PlanReaderTest, FieldsOfOtherSystemsAreRecognised) {
  EXPECT_NE(FaultsOfStep("{stepId: a, needs: []}").find("did you mean 'dependsOn'?"),
            std::string::npos);
  EXPECT_NE(FaultsOfStep("{stepId: a, if: x}").find("did you mean 'when'?"), std::string::npos);
}

TEST(PlanReaderTest, EachStepFieldIsChecked) {
  const std::pair<std::string, std::string> cases[] = {
      {"{stepId: a, kind: 5}", "/steps/0/kind: 'kind' must be text, the name of a tool"},
      {"{stepId: a, kind: a b}", "/steps/0/kind: the name of a tool"},
      {"{stepId: a, kind: echo, type: echo}", "/steps/0/type: 'type' is the older name of 'kind'"},
      {"{stepId: a, kind: wait}", "a step of kind wait needs 'waitFor'"},
      {"{stepId: a, kind: plan}", "a step of kind plan needs 'plan'"},
      {"{stepId: a, kind: echo, waitFor: {duration: 1s}}", "has no tool of its own"},
      {"{stepId: a, plan: x, waitFor: {duration: 1s}}", "'waitFor' or 'plan', not both"},
      {"{stepId: a, inputs: {x: 1}, waitFor: {duration: 1s}}", "takes no inputs"},
      {"{stepId: a, waitFor: {duration: 1s, until: x}}", "takes one of"},
      {"{stepId: a, waitFor: {}}", "takes one of"},
      {"{stepId: a, waitFor: {duration: later}}", "is not a duration"},
      {"{stepId: a, waitFor: {until: tomorrow}}", "must be a time"},
      {"{stepId: a, waitFor: {hook: {prompt: x}}}", "there is no field 'prompt' here"},
      {"{stepId: a, plan: {uri: x, sha256: AB}}", "64 lower-case"},
      {"{stepId: a, plan: {url: x}}", "there is no field 'url' here"},
      {"{stepId: a, plan: {steps: []}}", "/steps/0/plan/steps: a plan needs at least one step"},
      {"{stepId: a, plan: x, secretRefs: []}", "no tool that could use 'secretRefs'"},
      {"{stepId: a, waitFor: {duration: 1s}, heartbeatTimeout: 1s}", "use 'heartbeatTimeout'"},
      {"{stepId: a, dependsOn: b}", "must be a list of step ids"},
      {"{stepId: a, dependsOn: [5]}", "/steps/0/dependsOn/0: item 0 must be text, a step id"},
      {"{stepId: a, dependsOn: null}", "must be a list of step ids, not null"},
      {"{stepId: a, when: 5}", "must be text (an expression)"},
      {"{stepId: a, foreach: {as: x}}", "'items' is missing"},
      {"{stepId: a, foreach: {items: [1], as: steps}}", "is reserved in expressions"},
      {"{stepId: a, foreach: {items: [1], as: x, index: x}}", "rename one of them"},
      {"{stepId: a, foreach: {items: [1], maxInFlight: 0}}", "must be from 1 to 10000"},
      {"{stepId: a, onFailure: retry}", "must be fail, hold or continue"},
      {"{stepId: a, onFailure: {}}", "'fallback' is missing"},
      {"{stepId: a, compensate: {inputs: {}}}", "'kind' is missing"},
      {"{stepId: a, compensate: {kind: wait}}", "only a tool can undo"},
      {"{stepId: a, retryPolicy: {backoff: none}}", "'maxAttempts' is missing"},
      {"{stepId: a, retryPolicy: {maxAttempts: 0}}", "from 1 to 10000"},
      {"{stepId: a, retryPolicy: {maxAttempts: 2, jitter: 2}}", "0 to 1"},
      {"{stepId: a, retryPolicy: {maxAttempts: 2, initialDelay: 2m, maxDelay: 1m}}", "shorter"},
      {"{stepId: a, secretRefs: [{name: a-b, provider: env}]}", "the name of a secret"},
      {"{stepId: a, secretRefs: [{name: x, provider: vault}]}", "must be env or file"},
      {"{stepId: a, secretRefs: [{name: x, provider: env}, {name: x, provider: env}]}", "twice"},
      {"{stepId: a, timeout: 0}", "longer than zero"},
      {"{stepId: a, priority: 1001}", "from -1000 to 1000"},
      {"{stepId: a, queue: 'a|b'}", "without '|'"},
      {"{stepId: a, artifacts: ['']}", "is empty"},
      {"{stepId: a, inputs: {x: '{{ 1 + }}'}}", "/steps/0/inputs/x: "},
  };
  for (const auto& [step, expected] : cases) {
    const std::string faults = FaultsOfStep(step);
    EXPECT_NE(faults.find(expected), std::string::npos) << step << "\n" << faults;
  }
}

TEST(PlanReaderTest, EachPlanFieldIsChecked) {
  const std::pair<std::string, std::string> cases[] = {
      {"steps: [{stepId: a}]", "'planId' is missing"},
      {"metadata: {planId: 'a|b', planVersion: '1'}\nsteps: [{stepId: a}]", "without '|'"},
      {"metadata: {planId: p, planVersion: '1'}", "'steps' is missing"},
      {"metadata: {planId: p, planVersion: '1'}\nsteps: []", "at least one step"},
      {"metadata: {planId: p, planVersion: '1'}\nsteps: {}", "'steps' must be a list"},
      {"metadata: {planId: p, planVersion: '1'}\nplanId: q\nsteps: [{stepId: a}]", "remove one"},
      {"metadata: {planId: p, planVersion: '1', createdAt: x}\nsteps: [{stepId: a}]", "a time"},
      {"metadata: {planId: p, planVersion: '1', labels: {x: 1}}\nsteps: [{stepId: a}]", "'x' must"},
      {"text", "the document must be a map, not text"},
      {"metadata: {planId: p, planVersion: '1'}\nmetadata: {}\nsteps: [{stepId: a}]", "twice"},
  };
  for (const auto& [plan, expected] : cases) {
    EXPECT_NE(FaultsOf(plan).find(expected), std::string::npos) << plan << "\n" << FaultsOf(plan);
  }
}

TEST(PlanReaderTest, AFaultInsideATextHasItsPosition) {
  EXPECT_EQ(FaultsOfStep("{stepId: a, inputs: {x: 'see {{ nothing }}'}}").substr(0, 27),
            "3:35 /steps/0/inputs/x: unk");
  const std::string folded =
      FaultsOf(PlanOf("- stepId: a\n  inputs:\n    text: |\n      one\n"
                      "      two {{ ok + }}\n"));
  EXPECT_EQ(folded.substr(0, 2), "7:") << folded;
}

TEST(PlanReaderTest, OnlyKnownSchemaVersionsAreRead) {
  for (const std::string version : {"v1.0", "v1.1", "v1.2", "v1.3"}) {
    EXPECT_EQ(CodeOf("schemaVersion: " + version), "") << version;
  }
  for (const std::string version : {"v1.4", "v1.", "v2.0", "1.2", "v1.99"}) {
    EXPECT_EQ(CodeOf("schemaVersion: '" + version + "'"), "PLAN_SCHEMA_VERSION_UNKNOWN") << version;
  }
}

TEST(PlanReaderTest, CapabilitiesAreKnownInBothSpellings) {
  for (const std::string name :
       {"basic-execution", "signal.pause.native", "PAUSE_NATIVE", "SIGNAL_PAUSE_NATIVE",
        "replay.full", "FAN_DYNAMIC", "tool.echo", "gpu", "BASIC_EXECUTION"}) {
    EXPECT_EQ(CodeOf("requiresCapabilities: [" + name + "]", {{"echo"}, {"gpu"}}), "") << name;
  }
  EXPECT_EQ(CodeOf("requiresCapabilities: [tool.shell]", {{"echo"}, {}}),
            "CAPABILITY_NOT_SUPPORTED");
  EXPECT_EQ(CodeOf("requiresCapabilities: [teleport]"), "CAPABILITY_NOT_SUPPORTED");
  EXPECT_EQ(CodeOf("requiresCapabilities: [workflow.continue.as.new]"), "CAPABILITY_NOT_SUPPORTED");
  EXPECT_EQ(CodeOf("requiresCapabilities: [teleport], fallbackBehavior: emulate"),
            "CAPABILITY_EMULATED");
  EXPECT_EQ(CodeOf("requiresCapabilities: [teleport], fallbackBehavior: degrade"),
            "CAPABILITY_DEGRADED");
}

TEST(PlanReaderTest, APlanForAnotherEngineRunsOnlyIfItSaysSo) {
  for (const std::string adapter : {"any", "mock", "everstep"}) {
    EXPECT_EQ(CodeOf("targetAdapter: " + adapter), "");
  }
  EXPECT_EQ(CodeOf("targetAdapter: temporal"), "TARGET_ADAPTER_MISMATCH");
  EXPECT_EQ(CodeOf("targetAdapter: conductor, fallbackBehavior: degrade"), "CAPABILITY_DEGRADED");
  EXPECT_EQ(CodeOf("targetAdapter: temporl"), "INVALID_PLAN");
}

TEST(PlanReaderTest, ToolsAreCheckedWhereTheyAreKnown) {
  const std::string plan = PlanOf("- {stepId: a, kind: shell}\n- {stepId: b, kind: ecko}\n");
  EXPECT_NE(ReadWell(plan), nullptr);
  const auto read = ReadPlan(plan, {{"echo"}, {}});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kCapabilityNotSupported);
  EXPECT_EQ(
      read.error().faults.at(0).message,
      "the tool 'shell' is not enabled here; a server's operator can enable it in tools.enable");
  EXPECT_EQ(read.error().faults.at(1).message, "there is no tool 'ecko'; did you mean 'echo'?");
}

TEST(PlanReaderTest, WithRemoteWorkersOtherKindsAreAcceptedButDisabledToolsAreNot) {
  const PlanAudience workers{{"echo"}, {}, true};
  EXPECT_TRUE(ReadPlan(PlanOf("- {stepId: a, kind: train-model.v2}\n"), workers));
  EXPECT_EQ(CodeOf("requiresCapabilities: [tool.train-model]", workers), "");
  EXPECT_EQ(CodeOf("requiresCapabilities: [tool.shell]", workers), "CAPABILITY_NOT_SUPPORTED");
  const auto read = ReadPlan(PlanOf("- {stepId: a, kind: shell}\n"), workers);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kCapabilityNotSupported);
  EXPECT_EQ(
      read.error().faults.at(0).message,
      "the tool 'shell' is not enabled here; a server's operator can enable it in tools.enable");
}

TEST(PlanReaderTest, AnInvalidPlanTakesPrecedenceOverAMissingCapability) {
  const auto read = ReadPlan(
      "metadata: {planId: p, planVersion: '1', schemaVersion: v9, targetAdapter: temporal}\n"
      "steps: [{stepId: a, oops: 1}]\n");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kInvalidPlan);
  EXPECT_EQ(read.error().faults.size(), 3U);
}

TEST(PlanReaderTest, AtMostAHundredFaultsAreReported) {
  std::string steps;
  for (int i = 0; i < 300; ++i) steps += "- {stepId: s" + std::to_string(i) + ", oops: 1}\n";
  const auto read = ReadPlan(PlanOf(steps));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().faults.size(), 100U);
  EXPECT_NE(read.error().message.find("300 faults"), std::string::npos);
}

}  // namespace
}  // namespace everstep
