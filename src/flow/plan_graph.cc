#include "flow/plan_graph.h"

#include "flow/terminal_graph.h"

namespace everstep {
namespace {

std::string NodeName(StepIndex step) { return "s" + std::to_string(step); }

// Escapes text for a quoted Mermaid label, which interprets entities.
std::string MermaidText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"') {
      escaped.append("#quot;");
    } else if (c == '#') {
      escaped.append("#35;");
    } else if (c == '<') {
      escaped.append("#lt;");
    } else if (c == '>') {
      escaped.append("#gt;");
    } else {
      escaped.push_back(c);
    }
  }
  return escaped;
}

std::string DotText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped.push_back('\\');
    escaped.push_back(c);
  }
  return escaped;
}

// Waits are hexagons, child plans and loops have their own shapes.
std::string MermaidNode(const Plan& plan, const PlanStep& step) {
  const std::string label = "\"" + MermaidText(step.step_id) + "<br/><small>" +
                            MermaidText(StepNotes(plan, step)) + "</small>\"";
  if (step.wait_for) return "{{" + label + "}}";
  if (step.child) return "[[" + label + "]]";
  if (step.foreach) return "[/" + label + "/]";
  return "[" + label + "]";
}

std::string MermaidGraph(const Plan& plan) {
  std::string text = "flowchart LR\n";
  for (StepIndex i = 0; i < plan.steps.size(); ++i) {
    text += "  " + NodeName(i) + MermaidNode(plan, plan.steps[i]) + "\n";
  }
  for (StepIndex i = 0; i < plan.steps.size(); ++i) {
    for (const StepIndex before : plan.steps[i].depends_on) {
      text += "  " + NodeName(before) + " --> " + NodeName(i) + "\n";
    }
    if (plan.steps[i].fallback != kNoStep) {
      text += "  " + NodeName(i) + " -. on failure .-> " + NodeName(plan.steps[i].fallback) + "\n";
    }
  }
  return text;
}

std::string DotGraph(const Plan& plan) {
  std::string text = "digraph \"" + DotText(plan.plan_id) +
                     "\" {\n  rankdir=LR;\n  node [shape=box, style=rounded];\n";
  for (StepIndex i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    text += "  " + NodeName(i) + " [label=\"" + DotText(step.step_id) + "\\n" +
            DotText(StepNotes(plan, step)) + "\"";
    if (step.wait_for) text += ", shape=hexagon";
    if (step.child) text += ", peripheries=2";
    text += "];\n";
  }
  for (StepIndex i = 0; i < plan.steps.size(); ++i) {
    for (const StepIndex before : plan.steps[i].depends_on) {
      text += "  " + NodeName(before) + " -> " + NodeName(i) + ";\n";
    }
    if (plan.steps[i].fallback != kNoStep) {
      text += "  " + NodeName(i) + " -> " + NodeName(plan.steps[i].fallback) +
              " [style=dashed, label=\"on failure\"];\n";
    }
  }
  return text + "}\n";
}

}  // namespace

std::string PlanGraph(const Plan& plan, GraphForm form) {
  switch (form) {
    case GraphForm::kMermaid:
      return MermaidGraph(plan);
    case GraphForm::kDot:
      return DotGraph(plan);
    case GraphForm::kTerminal:
      break;
  }
  return TerminalGraph(plan);
}

}  // namespace everstep
