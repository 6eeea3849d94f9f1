#include <gtest/gtest.h>

#include "flow/plan.h"
#include "testing/plan_text.h"

namespace everstep {
namespace {

std::string WithInputs(const std::string& steps) {
  return "inputs: {limit: {type: integer}}\n" + PlanOf(steps);
}

void ExpectFault(const std::string& steps, const std::string& expected) {
  const std::string faults = FaultsOf(WithInputs(steps));
  EXPECT_NE(faults.find(expected), std::string::npos) << steps << "\n" << faults;
}

TEST(PlanNamesTest, AllAvailableNamesAreAccepted) {
  const std::string text = WithInputs(R"(
- {stepId: a, kind: echo, inputs: {x: "{{ inputs.limit + params.limit }} {{ run.id }}"}}
- stepId: b
  when: steps.a.result.x
  foreach: {items: steps.a.result, as: one, index: n}
  kind: http
  secretRefs: [{name: key, provider: env}]
  inputs: {x: "{{ one }} {{ n }}", h: "Bearer {{ secrets.key }}", s: "{{ secrets['key'] }}"}
  outputs: "{{ result.body }} {{ one }}"
  concurrencyKey: "k-{{ one }}"
  compensate: {kind: http, inputs: {x: "{{ steps.b.result }} {{ one }} {{ secrets.key }}"}}
- {stepId: c-1, inputs: {x: "{{ steps.a.result }}"}}
- {stepId: d, inputs: {x: "{{ steps['c-1'].result }}"}}
)") + "outputs: {x: '{{ steps.d.result }}'}\nconcurrencyKey: 'k-{{ inputs.limit }}'\n";
  EXPECT_EQ(FaultsOf(text), "");
}

TEST(PlanNamesTest, UnknownNamesAreReportedWithTheirPosition) {
  EXPECT_EQ(FaultsOf(PlanOf("- {stepId: a, inputs: {x: 'see {{ inptus.y }}'}}")),
            "3:35 /steps/0/inputs/x: unknown name 'inptus'; available here: inputs, run, steps, "
            "secrets; did you mean 'inputs'?\n");
  ExpectFault("- {stepId: a, inputs: {x: '{{ inputs.limt }}'}}",
              "the plan declares no input 'limt'; did you mean 'limit'?");
  ExpectFault("- {stepId: a, inputs: {x: '{{ limit }}'}}", "the input is inputs.limit");
  ExpectFault("- {stepId: a}\n- {stepId: b, inputs: {x: '{{ a.result }}'}}", "the step is steps.a");
  ExpectFault("- {stepId: a, inputs: {x: '{{ item }}'}}", "a step with 'foreach' has item");
  ExpectFault("- {stepId: a, when: item, foreach: [1]}", "evaluated once, before the loop");
  ExpectFault("- {stepId: a, inputs: {x: '{{ result }}'}}", "only in the 'outputs' of a step");
}

TEST(PlanNamesTest, AStepMustExistAndComeBefore) {
  ExpectFault("- {stepId: fetch}\n- {stepId: b, inputs: {x: '{{ steps.fetsh.result }}'}}",
              "/steps/1/inputs/x: there is no step 'fetsh'; did you mean 'fetch'?");
  ExpectFault("- {stepId: a-1}\n- {stepId: b, inputs: {x: '{{ steps.a-1 }}'}}",
              "for 'a-1' write steps['a-1']");
  ExpectFault("- {stepId: a, inputs: {x: '{{ steps.b.result }}'}}\n- {stepId: b}",
              "'b' is not guaranteed to end before this step; move it up");
  ExpectFault("- {stepId: a}\n- {stepId: b, dependsOn: [], inputs: {x: '{{ steps.a.result }}'}}",
              "add it to dependsOn");
  ExpectFault("- {stepId: a, inputs: {x: '{{ steps.a.result }}'}}", "cannot use its own result");
  ExpectFault("- {stepId: a, outputs: '{{ steps.a.result }}'}", "is called 'result' here");
}

TEST(PlanNamesTest, AncestorsOfAncestorsCount) {
  EXPECT_EQ(FaultsOf(PlanOf("- {stepId: a}\n- {stepId: b, dependsOn: [a]}\n"
                            "- {stepId: c, dependsOn: [b], when: steps.a.result}")),
            "");
}

TEST(PlanNamesTest, AFallbackCanUseItsStepAndTheNamesOfItsStep) {
  EXPECT_EQ(
      FaultsOf(PlanOf("- {stepId: a}\n"
                      "- {stepId: b, dependsOn: [a], onFailure: {fallback: f}}\n"
                      "- {stepId: f, inputs: {x: '{{ steps.a.result }} {{ steps.b.error }}'}}")),
      "");
  ExpectFault(
      "- {stepId: a, onFailure: {fallback: f}}\n- {stepId: f}\n"
      "- {stepId: c, dependsOn: [a], inputs: {x: '{{ steps.f.result }}'}}",
      "'f' is a fallback; use 'a'");
  ExpectFault(
      "- {stepId: z, dependsOn: []}\n- {stepId: a, onFailure: {fallback: f}}\n"
      "- {stepId: f, inputs: {x: '{{ steps.z.result }}'}}",
      "add it to the dependsOn of 'a'");
}

TEST(PlanNamesTest, SecretsAreAllowedOnlyInInputsAndOnlyAlone) {
  const std::string refs = "secretRefs: [{name: key, provider: env}]";
  ExpectFault("- {stepId: a, inputs: {x: '{{ secrets.key }}'}}", "add it to 'secretRefs'");
  ExpectFault("- {stepId: a, " + refs + ", when: secrets.key}",
              "secrets can be used only in the inputs");
  ExpectFault("- {stepId: a, " + refs + ", outputs: '{{ secrets.key }}'}",
              "secrets can be used only");
  ExpectFault("- {stepId: a, " + refs + ", concurrencyKey: '{{ secrets.key }}'}",
              "can be used only");
  ExpectFault("- {stepId: a, " + refs + ", inputs: {x: '{{ secrets.key | upper }}'}}",
              "cannot use a secret's value; write {{ secrets.key }} alone");
  ExpectFault("- {stepId: a, " + refs + ", inputs: {x: '{{ secrets }}'}}", "name one secret");
}

TEST(PlanNamesTest, ThePlansOwnTemplatesHaveFewerNames) {
  const std::string plan = PlanOf("- {stepId: a}");
  EXPECT_NE(FaultsOf(plan + "concurrencyKey: '{{ steps.a.result }}'").find("no step has run"),
            std::string::npos);
  EXPECT_NE(FaultsOf(plan + "outputs: '{{ steps.z.result }}'").find("there is no step 'z'"),
            std::string::npos);
}

TEST(PlanNamesTest, AnInlinePlanHasItsOwnNames) {
  const std::string faults = FaultsOf(
      PlanOf("- {stepId: a}\n- stepId: b\n  plan:\n    metadata: {planId: c, planVersion: '1'}\n"
             "    steps: [{stepId: x, inputs: {y: '{{ steps.a.result }}'}}]\n"));
  EXPECT_NE(faults.find("7:41 /steps/1/plan/steps/0/inputs/y: there is no step 'a'"),
            std::string::npos)
      << faults;
}

}  // namespace
}  // namespace everstep
