#include "flow/plan_graph.h"

#include <gtest/gtest.h>

#include "testing/plan_text.h"

namespace everstep {
namespace {

constexpr std::string_view kDiamond =
    "- {stepId: a, kind: echo}\n"
    "- {stepId: b, kind: echo, dependsOn: [a], onFailure: {fallback: f}}\n"
    "- {stepId: c, waitFor: {hook: {}}, dependsOn: [a]}\n"
    "- {stepId: d, kind: echo, dependsOn: [b, c], retryPolicy: {maxAttempts: 3}}\n"
    "- {stepId: f}\n";

std::string Drawn(std::string_view steps) {
  const auto plan = ReadWell(PlanOf(steps));
  return plan == nullptr ? "" : PlanGraph(*plan, GraphForm::kTerminal);
}

TEST(PlanGraphTest, MermaidHasANodeForEachStepAndAnEdgeForEachDependency) {
  const auto plan = ReadWell(PlanOf(kDiamond));
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(PlanGraph(*plan, GraphForm::kMermaid),
            "flowchart LR\n"
            "  s0[\"a<br/><small>echo</small>\"]\n"
            "  s1[\"b<br/><small>echo, on failure f</small>\"]\n"
            "  s2{{\"c<br/><small>hook</small>\"}}\n"
            "  s3[\"d<br/><small>echo, up to 3 attempts</small>\"]\n"
            "  s4[\"f<br/><small>noop</small>\"]\n"
            "  s0 --> s1\n"
            "  s1 -. on failure .-> s4\n"
            "  s0 --> s2\n"
            "  s1 --> s3\n"
            "  s2 --> s3\n");
}

TEST(PlanGraphTest, DotHasTheSameNodesAndEdges) {
  const auto plan = ReadWell(PlanOf(kDiamond));
  ASSERT_NE(plan, nullptr);
  const std::string dot = PlanGraph(*plan, GraphForm::kDot);
  EXPECT_TRUE(dot.starts_with("digraph \"p\" {\n")) << dot;
  EXPECT_NE(dot.find("  s0 [label=\"a\\necho\"];\n"), std::string::npos) << dot;
  EXPECT_NE(dot.find("  s1 -> s3;\n"), std::string::npos) << dot;
  EXPECT_NE(dot.find("  s1 -> s4 [style=dashed, label=\"on failure\"];\n"), std::string::npos);
  EXPECT_TRUE(dot.ends_with("}\n"));
}

TEST(PlanGraphTest, TheTerminalShowsBranchesAndJoins) {
  EXPECT_EQ(Drawn(kDiamond),
            "p 1, 5 steps\n"
            "●   a  [echo]\n"
            "├─╮\n"
            "│ ● b  [echo, on failure f]\n"
            "● │ c  [hook]\n"
            "├─╯\n"
            "●   d  [echo, up to 3 attempts]\n");
}

TEST(PlanGraphTest, LinesThatCrossStayApart) {
  EXPECT_EQ(Drawn("- {stepId: a}\n- {stepId: b}\n- {stepId: c, dependsOn: [a]}\n"
                  "- {stepId: d, dependsOn: [b, a]}\n- {stepId: e, dependsOn: [c, d]}\n"),
            "p 1, 5 steps\n"
            "●     a  [noop]\n"
            "│ ●   b  [noop]\n"
            "├─┼─╮\n"
            "│ │ ● c  [noop]\n"
            "├─╯ │\n"
            "●   │ d  [noop]\n"
            "├───╯\n"
            "●     e  [noop]\n");
}

TEST(PlanGraphTest, StepsThatAreAlikeShareARow) {
  std::string steps = "- {stepId: start}\n";
  std::string all;
  for (int i = 0; i < 1'000; ++i) {
    const std::string id = "item-" + std::to_string(i);
    steps += "- {stepId: " + id + ", kind: http, dependsOn: [start]}\n";
    all += id + ", ";
  }
  steps += "- {stepId: end, dependsOn: [" + all + "]}\n";
  EXPECT_EQ(Drawn(steps),
            "p 1, 1002 steps\n"
            "● start  [noop]\n"
            "● item-0, item-1, item-2, … (1000 steps)  [http]\n"
            "● end  [noop]\n");
}

TEST(PlanGraphTest, ALargePlanIsSummarized) {
  std::string steps;
  for (int i = 0; i < 100; ++i) steps += "- {stepId: s" + std::to_string(i) + "}\n";
  const std::string drawn = Drawn(steps);
  EXPECT_NE(drawn.find("├─ level 2: s1  [1 noop]\n"), std::string::npos) << drawn;
  EXPECT_NE(drawn.find("… 60 more levels\n"), std::string::npos) << drawn;
}

}  // namespace
}  // namespace everstep
