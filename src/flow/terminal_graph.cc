#include "flow/terminal_graph.h"

#include <algorithm>
#include <map>

#include "base/utf8.h"

namespace everstep {
namespace {

constexpr std::size_t kRowsMax = 60;
constexpr std::size_t kAlikeMin = 4;      // at least this many equal steps share one row
constexpr std::size_t kLanesMax = 24;     // a wider drawing is unreadable
constexpr std::size_t kDepthsShown = 40;  // levels in a summary
constexpr std::size_t kNone = SIZE_MAX;

// A row of the drawing: one step, or several equal steps (see Rows).
struct Row {
  std::vector<StepIndex> steps;
  std::vector<std::size_t> after;  // the rows that this one depends on
  std::size_t dependants = 0;      // dependent rows that are not drawn yet
};

// The steps in topological order, and in plan order where dependencies allow it.
std::vector<StepIndex> InOrder(const Plan& plan) {
  std::vector<std::size_t> waits(plan.steps.size());
  std::vector<StepIndex> ready;  // a heap with the earliest step of the plan on top
  const auto later = std::greater<StepIndex>();
  for (StepIndex i = 0; i < plan.steps.size(); ++i) {
    waits[i] = plan.steps[i].depends_on.size();
    if (waits[i] == 0 && plan.steps[i].fallback_of == kNoStep) ready.push_back(i);
  }
  std::vector<StepIndex> order;
  std::make_heap(ready.begin(), ready.end(), later);
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), later);
    const StepIndex step = ready.back();
    ready.pop_back();
    order.push_back(step);
    for (const StepIndex next : plan.steps[step].dependants) {
      if (--waits[next] > 0) continue;
      ready.push_back(next);
      std::push_heap(ready.begin(), ready.end(), later);
    }
  }
  return order;
}

// Steps with the same notes, dependencies and dependants are equal. They share a row if there are
// at least kAlikeMin of them.
std::vector<Row> Rows(const Plan& plan, const std::vector<StepIndex>& order) {
  using Likeness = std::tuple<std::string, std::vector<StepIndex>, std::vector<StepIndex>>;
  const auto likeness = [&plan](StepIndex step) {
    const PlanStep& spec = plan.steps[step];
    std::vector<StepIndex> before = spec.depends_on;
    std::sort(before.begin(), before.end());
    return Likeness{StepNotes(plan, spec), std::move(before), spec.dependants};
  };
  std::map<Likeness, std::size_t> counts;
  for (const StepIndex step : order) ++counts[likeness(step)];
  std::map<Likeness, std::size_t> shared;
  std::vector<std::size_t> row_of(plan.steps.size(), kNone);
  std::vector<Row> rows;
  for (const StepIndex step : order) {
    const Likeness key = likeness(step);
    const bool alike = counts[key] >= kAlikeMin;
    const auto found = shared.find(key);
    if (alike && found != shared.end()) {
      rows[found->second].steps.push_back(step);
      row_of[step] = found->second;
      continue;
    }
    row_of[step] = rows.size();
    if (alike) shared.emplace(key, rows.size());
    rows.push_back(Row{{step}, {}, 0});
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const StepIndex before : plan.steps[rows[i].steps[0]].depends_on) {
      const std::size_t row = row_of[before];
      if (std::find(rows[i].after.begin(), rows[i].after.end(), row) != rows[i].after.end())
        continue;
      rows[i].after.push_back(row);
      ++rows[row].dependants;
    }
  }
  return rows;
}

// Draws rows from top to bottom. A lane is a column that carries the line of a row to its
// dependants.
class Drawing {
 public:
  Drawing(const Plan& plan, std::vector<Row> rows) : plan_(plan), rows_(std::move(rows)) {}

  // Returns "" if the drawing is too wide.
  std::string Draw() {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      Place(row);
      if (lanes_.size() > kLanesMax) return "";
    }
    std::size_t width = 0;
    for (const auto& [drawn, label] : lines_) width = std::max(width, CountCharacters(drawn));
    std::string text;
    for (const auto& [drawn, label] : lines_) {
      text += drawn;
      if (!label.empty()) text += std::string(width - CountCharacters(drawn) + 1, ' ') + label;
      text += "\n";
    }
    return text;
  }

 private:
  // Determines which lines from above end or continue at this row, and the lane of the row.
  void Place(std::size_t row) {
    std::vector<std::size_t> joining;  // lanes of its dependencies
    std::vector<bool> ends(lanes_.size() + 1);
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      const auto& after = rows_[row].after;
      if (lanes_[lane] == kNone ||
          std::find(after.begin(), after.end(), lanes_[lane]) == after.end()) {
        continue;
      }
      joining.push_back(lane);
      ends[lane] = --rows_[lanes_[lane]].dependants == 0;
    }
    std::size_t own = kNone;
    for (const std::size_t lane : joining) {
      if (ends[lane] && own == kNone) own = lane;
    }
    const bool fresh = own == kNone;
    if (fresh) {
      // Take the first free lane to the right of the dependency, so that lines cross less.
      const std::size_t from = joining.empty() ? 0 : joining[0];
      const auto free =
          std::find(lanes_.begin() + static_cast<std::ptrdiff_t>(from), lanes_.end(), kNone);
      own = static_cast<std::size_t>(free - lanes_.begin());
      if (free == lanes_.end()) lanes_.push_back(kNone);
    }
    if (joining.size() > (fresh ? 0U : 1U)) Connect(joining, ends, own, fresh);
    for (const std::size_t lane : joining) {
      if (ends[lane]) lanes_[lane] = kNone;
    }
    Mark(row, own);
    lanes_[own] = rows_[row].dependants > 0 ? row : kNone;
    while (!lanes_.empty() && lanes_.back() == kNone) lanes_.pop_back();
  }

  void Connect(const std::vector<std::size_t>& joining, const std::vector<bool>& ends,
               std::size_t own, bool fresh) {
    const std::size_t left = std::min(own, joining.front());
    const std::size_t right = std::max(own, joining.back());
    std::string line;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      const bool joins = std::find(joining.begin(), joining.end(), lane) != joining.end();
      // Decide which of the four arms the corner at this lane has.
      const bool above = lanes_[lane] != kNone;
      const bool below = lane == own || (above && !(joins && ends[lane]));
      const bool to_left = lane > left && lane <= right;
      const bool to_right = lane >= left && lane < right;
      const bool crossed = !joins && lane != own;
      line += crossed && (to_left || to_right)
                  ? (above ? "┼" : "─")
                  : Corner(above && !(lane == own && fresh), below, to_left, to_right);
      line += to_right ? "─" : " ";
    }
    while (line.ends_with(' ')) line.pop_back();
    lines_.emplace_back(std::move(line), "");
  }

  static std::string_view Corner(bool above, bool below, bool left, bool right) {
    static constexpr std::string_view kCorners[16] = {" ", "╷", "╵", "│", "╶", "╭", "╰", "├",
                                                      "╴", "╮", "╯", "┤", "─", "┬", "┴", "┼"};
    return kCorners[(left ? 8 : 0) + (right ? 4 : 0) + (above ? 2 : 0) + (below ? 1 : 0)];
  }

  void Mark(std::size_t row, std::size_t own) {
    std::string line;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      line += lane == own ? "●" : lanes_[lane] == kNone ? " " : "│";
      line += " ";
    }
    while (line.ends_with(' ')) line.pop_back();
    lines_.emplace_back(std::move(line), Label(rows_[row]));
  }

  std::string Label(const Row& row) const {
    std::string names;
    constexpr std::size_t kNamed = 3;
    for (std::size_t i = 0; i < std::min(kNamed, row.steps.size()); ++i) {
      names += (i == 0 ? "" : ", ") + plan_.steps[row.steps[i]].step_id;
    }
    if (row.steps.size() > kNamed) names += ", … (" + std::to_string(row.steps.size()) + " steps)";
    return names + "  [" + StepNotes(plan_, plan_.steps[row.steps[0]]) + "]";
  }

  const Plan& plan_;
  std::vector<Row> rows_;
  std::vector<std::size_t> lanes_;  // the row whose line each lane carries; kNone: free
  std::vector<std::pair<std::string, std::string>> lines_;
};

// Summarizes a plan that is too large to draw: the number of steps at each depth and their kinds.
std::string Summary(const Plan& plan, const std::vector<StepIndex>& order) {
  std::vector<std::size_t> depth(plan.steps.size());
  std::vector<std::map<std::string, std::size_t>> kinds;
  std::vector<StepIndex> first;
  for (const StepIndex step : order) {
    for (const StepIndex before : plan.steps[step].depends_on) {
      depth[step] = std::max(depth[step], depth[before] + 1);
    }
    if (depth[step] >= kinds.size()) {
      kinds.resize(depth[step] + 1);
      first.resize(depth[step] + 1, step);
    }
    ++kinds[depth[step]][plan.steps[step].action.kind];
  }
  std::string text;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (i == kDepthsShown) {
      text += "… " + std::to_string(kinds.size() - i) + " more levels\n";
      break;
    }
    std::size_t steps = 0;
    std::string notes;
    for (const auto& [kind, count] : kinds[i]) {
      steps += count;
      notes += (notes.empty() ? "" : ", ") + std::to_string(count) + " " + kind;
    }
    text += (i == 0 ? "┌" : i + 1 == kinds.size() ? "└" : "├");
    text += "─ level " + std::to_string(i + 1) + ": " + plan.steps[first[i]].step_id;
    if (steps > 1) text += " and " + std::to_string(steps - 1) + " more";
    text += "  [" + notes + "]\n";
  }
  return text;
}

}  // namespace

std::string StepNotes(const Plan& plan, const PlanStep& step) {
  std::string notes = step.action.kind;
  const auto add = [&notes](const std::string& note) { notes += ", " + note; };
  if (step.wait_for && step.wait_for->kind == WaitFor::Kind::kHook) notes = "hook";
  if (step.wait_for && step.wait_for->kind == WaitFor::Kind::kApproval) notes = "approval";
  if (step.child && !step.child->reference.empty()) notes += " " + step.child->reference;
  if (step.foreach) add("foreach");
  if (!step.when.empty()) add("when");
  if (step.action.attempts_max > 1) {
    add("up to " + std::to_string(step.action.attempts_max) + " attempts");
  }
  if (step.compensate) add("undone by " + step.compensate->kind);
  switch (step.on_failure) {
    case PlanStep::OnFailure::kFail:
      break;
    case PlanStep::OnFailure::kHold:
      add("on failure hold");
      break;
    case PlanStep::OnFailure::kContinue:
      add("on failure continue");
      break;
    case PlanStep::OnFailure::kFallback:
      add("on failure " + plan.steps[step.fallback].step_id);
      break;
  }
  return notes;
}

std::string TerminalGraph(const Plan& plan) {
  std::string text = plan.plan_id + " " + plan.plan_version + ", " +
                     std::to_string(plan.steps.size()) +
                     (plan.steps.size() == 1 ? " step\n" : " steps\n");
  const std::vector<StepIndex> order = InOrder(plan);
  std::vector<Row> rows = Rows(plan, order);
  std::string drawn;
  if (rows.size() <= kRowsMax) drawn = Drawing(plan, std::move(rows)).Draw();
  return text + (drawn.empty() ? Summary(plan, order) : drawn);
}

}  // namespace everstep
