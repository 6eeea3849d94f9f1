#include "flow/plan.h"

#include "flow/plan_graph.h"
#include "fuzz/fuzz.h"

// Any bytes are either a plan or have faults. For an accepted plan, drawing the graph and checking
// inputs must work.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace everstep;
  std::vector<PlanWarning> warnings;
  const auto plan = ReadPlan(AsText(bytes, size), {{"echo", "http"}, {}}, &warnings);
  if (!plan) {
    FUZZ_REQUIRE(!plan.error().faults.empty());
    for (const Fault& fault : plan.error().faults) FUZZ_REQUIRE(!fault.message.empty());
    return 0;
  }
  const Plan& read = **plan;
  FUZZ_REQUIRE(!read.steps.empty());
  for (StepIndex i = 0; i < read.steps.size(); ++i) {
    FUZZ_REQUIRE(read.Find(read.steps[i].step_id) == i);
    for (const StepIndex before : read.steps[i].depends_on) FUZZ_REQUIRE(before != i);
  }
  for (const GraphForm form : {GraphForm::kMermaid, GraphForm::kDot, GraphForm::kTerminal}) {
    FUZZ_REQUIRE(!PlanGraph(read, form).empty());
  }
  const auto inputs = CheckInputs(read, "");
  FUZZ_REQUIRE(inputs || inputs.error().code == ErrorCode::kInvalidInput);
  return 0;
}
