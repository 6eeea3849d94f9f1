#include "run/signal_rules.h"

#include <gtest/gtest.h>

#include "testing/plan_workbench.h"

namespace everstep {
namespace {

class SignalRulesTest : public PlanWorkbench {
 protected:
  static std::string Text(std::size_t size) { return std::string(size, 'x'); }
  Result<SignalVerdict> Judge(const std::string& type, const std::string& payload,
                              const std::vector<std::string>& roles,
                              const std::string& reason = "a test") {
    SignalRequest request;
    request.type = type;
    request.payload = payload;
    request.reason = reason;
    request.actor = {"tester", roles, "10.0.0.1"};
    return JudgeSignal(request, {"UPDATE_TARGET"}, clock_.Now(), random_);
  }
};

struct GoodSignal {
  std::string type;
  std::string payload;
  std::string role;  // the lowest that may send it
  bool destructive;
};
const std::vector<GoodSignal>& GoodSignals() {
  static const std::vector<GoodSignal> signals = {
      {"PAUSE", R"({"reason":"r"})", "Operator", false},
      {"RESUME", "{}", "Operator", false},
      {"CANCEL", R"({"reason":"r"})", "Operator", false},
      {"RETRY_STEP", R"({"stepId":"a","force":true})", "Engineer", false},
      {"RETRY_RUN", R"({"reason":"r","force":false})", "Engineer", false},
      {"SKIP_STEP", R"({"stepId":"a","reason":"r"})", "Engineer", false},
      {"UPDATE_PARAMS", R"({"params":{}})", "Admin", true},
      {"INJECT_OVERRIDE", R"({"stepId":"a","override":{"inputs":{}}})", "Admin", true},
      {"UPDATE_TARGET", R"({"stepId":"a","newTarget":{}})", "Admin", true},
      {"EMERGENCY_STOP", R"({"reason":"r","forceKill":true})", "Admin", true},
      {"ESCALATE_ALERT", R"({"level":"P1","note":"n"})", "System", false},
  };
  return signals;
}

TEST_F(SignalRulesTest, AcceptsAllElevenSignalsWithFullPayloads) {
  EXPECT_EQ(SignalRules().size(), 11U);
  for (const GoodSignal& signal : GoodSignals()) {
    const auto verdict = Judge(signal.type, signal.payload, {signal.role});
    ASSERT_TRUE(verdict) << signal.type << ToString(verdict.error());
    EXPECT_EQ(verdict->destructive, signal.destructive) << signal.type;
    EXPECT_EQ(verdict->decision, signal.type == "UPDATE_TARGET" ? "REVISION_REQUIRED" : "ACCEPTED");
  }
}

TEST_F(SignalRulesTest, EachSignalHasALowestRole) {
  const std::vector<std::string> ladder = {"Viewer", "Operator", "Engineer", "Admin"};
  for (const GoodSignal& signal : GoodSignals()) {
    bool enough = false;
    for (const std::string& role : ladder) {
      enough = enough || role == signal.role;
      const auto verdict = Judge(signal.type, signal.payload, {role});
      ASSERT_TRUE(verdict);
      EXPECT_EQ(verdict->code == "AUTHZ_DENIED", !enough) << signal.type << " by " << role;
    }
  }
}

TEST_F(SignalRulesTest, TheRecordNamesTheLowestRoleThatSuffices) {
  const auto verdict = Judge("PAUSE", "{}", {"Admin", "Viewer", "Operator", "Engineer"});
  ASSERT_TRUE(verdict);
  EXPECT_NE(verdict->order.record.find(R"("actorRole":"Operator")"), std::string::npos);
}

TEST_F(SignalRulesTest, DestructiveSignalsNeedAReason) {
  for (const GoodSignal& signal : GoodSignals()) {
    if (signal.type == "EMERGENCY_STOP") continue;  // its payload has a reason
    const auto verdict =
        Judge(signal.type, signal.type == "PAUSE" ? "{}" : signal.payload, {signal.role}, "");
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->code == "AUTHZ_REASON_REQUIRED", signal.destructive) << signal.type;
  }
}

TEST_F(SignalRulesTest, InvalidPayloadsAreRefused) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"PAUSE", R"({"reason":")" + Text(501) + R"("})"},
      {"PAUSE", R"({"reason":5})"},
      {"PAUSE", R"({"force":true})"},
      {"PAUSE", "[]"},
      {"PAUSE", "{"},
      {"PAUSE", R"({"reason":")" + Text(70'000) + R"("})"},
      {"RESUME", R"({"reason":"r"})"},
      {"CANCEL", R"({"reason":")" + Text(501) + R"("})"},
      {"CANCEL", R"({"forceKill":true})"},
      {"RETRY_STEP", "{}"},
      {"RETRY_STEP", R"({"stepId":""})"},
      {"RETRY_STEP", R"({"stepId":"a","force":"yes"})"},
      {"RETRY_RUN", R"({"reason":")" + Text(501) + R"("})"},
      {"SKIP_STEP", R"({"reason":"r"})"},
      {"SKIP_STEP", R"({"stepId":"a","reason":")" + Text(501) + R"("})"},
      {"UPDATE_PARAMS", "{}"},
      {"UPDATE_PARAMS", R"({"params":[]})"},
      {"INJECT_OVERRIDE", R"({"stepId":"a"})"},
      {"INJECT_OVERRIDE", R"({"stepId":"a","override":{}})"},
      {"INJECT_OVERRIDE", R"({"stepId":"a","override":{"x":1}})"},
      {"UPDATE_TARGET", R"({"newTarget":{}})"},
      {"EMERGENCY_STOP", "{}"},
      {"EMERGENCY_STOP", R"({"reason":""})"},
      {"EMERGENCY_STOP", R"({"reason":")" + Text(1001) + R"("})"},
      {"ESCALATE_ALERT", "{}"},
      {"ESCALATE_ALERT", R"({"level":"LOUD"})"},
      {"ESCALATE_ALERT", R"({"level":"INFO","note":")" + Text(1001) + R"("})"},
      {"DANCE", "{}"},
  };
  for (const auto& [type, payload] : bad) {
    const auto verdict = Judge(type, payload, {"Viewer"});
    ASSERT_FALSE(verdict) << type << payload;
    EXPECT_EQ(verdict.error().code, ErrorCode::kSignalInvalidPayload)
        << "the payload is checked before the role";
  }
  EXPECT_TRUE(Judge("PAUSE", R"({"reason":")" + Text(500) + R"("})", {"Operator"}));
  EXPECT_TRUE(Judge("EMERGENCY_STOP", R"({"reason":")" + Text(1000) + R"("})", {"Admin"}));
}

TEST_F(SignalRulesTest, TheDecisionRecordHasTheFieldsOfTheContract) {
  const auto verdict = Judge("CANCEL", R"({"reason":"enough"})", {"Operator"});
  ASSERT_TRUE(verdict);
  for (const char* field :
       {R"("signalDecisionId":")", R"("signalId":")", R"("decision":"ACCEPTED")",
        R"("policyDecisionId":")", R"("actorId":"tester")", R"("actorRole":"Operator")",
        R"("tenantId":"default")", R"("timestamp":"2026-02-12T00:00:00)", R"("reason":"a test")",
        R"("sourceIp":"10.0.0.1")", R"("signalType":"CANCEL")",
        R"("signalPayload":{"reason":"enough"})", R"("engineProcessedAt":")",
        R"("engineResult":{"status":"success"})"}) {
    EXPECT_NE(verdict->order.record.find(field), std::string::npos) << field;
  }
}

// ---- signals to an engine

TEST_F(SignalRulesTest, DesignRule10TheDecisionIsCommittedWithItsEffect) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n");
  const std::uint64_t commits = power_->commits;
  Signal(run, "PAUSE");
  EXPECT_EQ(power_->commits, commits + 1);
  SignalRequest denied = SignalOf(run, "RESUME");
  denied.actor.roles = {"Viewer"};
  const auto decision = TrySignal(denied);
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->decision, "REJECTED");
  EXPECT_EQ(decision->code, "AUTHZ_DENIED");
  EXPECT_EQ(Events(run).back().type, EventType::kSignalRejected);
  EXPECT_EQ(decision->run_seq, Events(run).back().seq.value());
  EXPECT_EQ(StatusOf(run), "PAUSED");
}

TEST_F(SignalRulesTest, DesignRule10ARepeatedSignalIsDecidedOnce) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n");
  SignalRequest request = SignalOf(run, "PAUSE", R"({"reason":"x"})");
  request.signal_id = "s-1";
  const auto first = TrySignal(request);
  const std::string log = Log(run);
  const auto second = TrySignal(request);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first->repeated);
  EXPECT_TRUE(second->repeated);
  EXPECT_EQ(second->run_seq, first->run_seq);
  EXPECT_EQ(Log(run), log);
  Restart();
  EXPECT_TRUE(TrySignal(request)->repeated) << "after a restart too";
  request.payload = R"({"reason":"y"})";
  EXPECT_EQ(CodeOf(TrySignal(request)), "SIGNAL_DUPLICATE");
  request.payload = R"({ "reason" : "x" })";
  EXPECT_TRUE(TrySignal(request)) << "whitespace makes no difference";
}

TEST_F(SignalRulesTest, AnEndedRunRefusesSignals) {
  const std::string run = StartSteps("  - {stepId: a}\n");
  const std::string log = Log(run);
  for (const GoodSignal& signal : GoodSignals()) {
    if (signal.type == "RETRY_RUN" || signal.type == "ESCALATE_ALERT") continue;
    EXPECT_EQ(CodeOf(TrySignal(SignalOf(run, signal.type, signal.payload))), "RUN_TERMINAL")
        << signal.type;
  }
  EXPECT_EQ(Log(run), log);
}

TEST_F(SignalRulesTest, UpdateTargetNeedsASecondPerson) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n");
  SignalRequest request = SignalOf(run, "UPDATE_TARGET", R"({"stepId":"a","newTarget":{"x":1}})");
  for (const std::string by : {"", "tester"}) {
    request.approved_by = by;
    const auto decision = TrySignal(request);
    ASSERT_TRUE(decision);
    EXPECT_EQ(decision->decision, "REVISION_REQUIRED");
    EXPECT_NE(Events(run).back().payload.find(R"("approvalRequired":true)"), std::string::npos);
  }
  request.approved_by = "second";
  EXPECT_EQ(TrySignal(request)->decision, "ACCEPTED");
  EXPECT_NE(Events(run).back().payload.find(R"("approvedBy":"second")"), std::string::npos);
}

TEST_F(SignalRulesTest, OtherTenantsSeeNeitherRunNorDecision) {
  const std::string run = StartSteps("  - {stepId: a, kind: http}\n");
  SignalRequest request = SignalOf(run, "PAUSE");
  request.signal_id = "s-1";
  EXPECT_TRUE(TrySignal(request));
  request.tenant_id = "others";
  EXPECT_EQ(CodeOf(TrySignal(request)), "RUN_NOT_FOUND");
  request.signal_id = "s-2";
  EXPECT_EQ(CodeOf(TrySignal(request)), "RUN_NOT_FOUND");
  request.run_id = "no-such-run";
  EXPECT_EQ(CodeOf(TrySignal(request)), "RUN_NOT_FOUND");
}

}  // namespace
}  // namespace everstep
