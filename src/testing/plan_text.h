#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "flow/plan.h"

namespace everstep {

// A plan `p` with these steps, a YAML list.
inline std::string PlanOf(std::string_view steps) {
  return "metadata: {planId: p, planVersion: '1'}\nsteps:\n" + std::string(steps) + "\n";
}

// Returns null, and fails the test, if the plan has faults.
inline std::shared_ptr<const Plan> ReadWell(std::string_view text) {
  const auto plan = ReadPlan(text);
  EXPECT_TRUE(plan) << (plan ? "" : ToString(plan.error()));
  return plan ? *plan : nullptr;
}

// One line "line:column pointer: message" per fault; empty if there are none.
inline std::string FaultsOf(std::string_view text) {
  const auto plan = ReadPlan(text);
  std::string lines;
  if (plan) return lines;
  for (const Fault& fault : plan.error().faults) {
    lines += std::to_string(fault.line) + ":" + std::to_string(fault.column) + " " + fault.pointer +
             ": " + fault.message + "\n";
  }
  return lines;
}

inline std::string FaultsOfStep(std::string_view step) {
  return FaultsOf(PlanOf("- " + std::string(step)));
}

// The code of the error, or of the first warning, for a plan with additional metadata.
inline std::string CodeOf(std::string_view metadata, const PlanAudience& audience = {}) {
  const std::string text = "metadata: {planId: p, planVersion: '1', " + std::string(metadata) +
                           "}\nsteps: [{stepId: a}]\n";
  std::vector<PlanWarning> warnings;
  const auto plan = ReadPlan(text, audience, &warnings);
  if (!plan) return std::string(Name(plan.error().code));
  return warnings.empty() ? "" : warnings[0].code;
}

}  // namespace everstep
