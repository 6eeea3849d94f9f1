#include "flow/plan_graph.h"

#include <string_view>

#include "commands.h"
#include "output.h"
#include "plan_file.h"

namespace everstep::cli {
namespace {

constexpr std::string_view kForms[] = {"text", "mermaid", "dot"};
constexpr OptionSpec kOptions[] = {
    {"form", OptionKind::kWord, "FORM", "text (for a terminal), mermaid or dot", "text", kForms},
};

ExitCode Run(const Arguments& arguments, Output& out) {
  const auto plan = ReadPlanFile(arguments.operands().front());
  if (!plan) return Fail(plan.error(), out);
  const std::string& form = arguments.Text("form");
  out.Write(PlanGraph(**plan, form == "mermaid" ? GraphForm::kMermaid
                              : form == "dot"   ? GraphForm::kDot
                                                : GraphForm::kTerminal));
  return ExitCode::kOk;
}

}  // namespace

const Command kPlanGraph{
    "plan graph", "FILE",   1,   1, "Draw the steps of a plan and their dependencies.",
    "",           kOptions, Run,
};

}  // namespace everstep::cli
