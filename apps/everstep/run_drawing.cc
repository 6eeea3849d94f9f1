#include "run_drawing.h"

#include <algorithm>
#include <map>

#include "output.h"
#include "snapshot_text.h"
#include "step_line.h"
#include "styled_line.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kNameColumnsMax = 48;

bool IsDone(const StepView& step) {
  return step.status == "SUCCESS" || step.status == "FAILED" || step.status == "SKIPPED";
}

// Returns the word under which a step without a line of its own is counted.
std::string_view CountedAs(const StepView& step) {
  if (step.status == "SUCCESS") return "done";
  if (step.status == "FAILED") return "failed";
  if (step.status == "SKIPPED") return "skipped";
  if (step.status == "WAITING") return "to come";
  if (step.status == "PENDING") return "ready";
  if (step.status == "RETRYING") return "to be retried";
  return "running";
}

// Returns the priority of a step for a line of its own; larger is first.
std::int64_t WorthOf(const StepView& step) {
  constexpr std::int64_t kYear2100 = 4'102'444'800'000'000;
  if (step.status == "FAILED") return 4 * kYear2100;
  if (step.status == "RUNNING" || step.status == "RETRYING") return 3 * kYear2100;
  if (step.status == "PENDING") return 2 * kYear2100;
  if (step.status == "WAITING") return 0;
  // Steps that ended later are more relevant.
  return step.completed_at ? step.completed_at->time_since_epoch().count() : 1;
}

std::string CountsOf(const std::vector<const StepView*>& steps) {
  std::map<std::string_view, std::size_t> counts;
  for (const StepView* step : steps) ++counts[CountedAs(*step)];
  std::string text;
  for (const std::string_view word :
       {"done", "failed", "skipped", "running", "to be retried", "ready", "to come"}) {
    const auto found = counts.find(word);
    if (found == counts.end()) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(found->second) + " " + std::string(word);
  }
  return text;
}

// Chooses the rows that get a line of their own, so that there are at most `lines_max` lines
// including those that count the other rows.
std::vector<bool> Choose(const RunView& view, const std::vector<TreeRow>& rows,
                         std::size_t lines_max) {
  std::vector<std::size_t> by_worth(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) by_worth[i] = i;
  const std::size_t candidates = std::min(lines_max, rows.size());
  std::ranges::partial_sort(by_worth, by_worth.begin() + static_cast<std::ptrdiff_t>(candidates),
                            [&](std::size_t one, std::size_t other) {
                              const auto worth = WorthOf(view.steps[rows[one].step]);
                              const auto other_worth = WorthOf(view.steps[rows[other].step]);
                              return worth != other_worth ? worth > other_worth : one < other;
                            });
  // There is a line for each chosen row and for each group of other rows between them.
  std::vector<bool> chosen(rows.size(), false);
  std::size_t lines = 1;
  for (std::size_t i = 0; i < candidates; ++i) {
    const std::size_t row = by_worth[i];
    const bool gap_before = row > 0 && !chosen[row - 1];
    const bool gap_after = row + 1 < rows.size() && !chosen[row + 1];
    const std::size_t grown = lines + (gap_before ? 1 : 0) + (gap_after ? 1 : 0);
    if (grown > lines_max) break;
    lines = grown;
    chosen[row] = true;
  }
  return chosen;
}

}  // namespace

bool HasEnded(std::string_view status) {
  return status == "COMPLETED" || status == "FAILED" || status == "CANCELLED";
}

std::string StepCounts(const RunView& view) {
  std::vector<const StepView*> all;
  for (const StepView& step : view.steps) all.push_back(&step);
  return CountsOf(all);
}

std::string RunTitle(const RunView& view, SystemTime now, const Look& look) {
  StyledLine line;
  line.Add(Colour::kBold, Printable(view.run_id)).Add("  ");
  line.Add(ColourOfStatus(view.status), view.status);
  if (!view.substatus.empty()) line.Add(Colour::kYellow, " (" + view.substatus + ")");
  if (view.queue_position > 0) {
    line.Add(Colour::kYellow, "  " + std::to_string(view.queue_position) + " in the queue");
  }
  if (view.started_at) {
    const SystemTime end = view.completed_at.value_or(std::max(now, *view.started_at));
    line.Add("  " + DurationText(end - *view.started_at));
  }
  const auto done = std::ranges::count_if(view.steps, IsDone);
  line.Add("  " + std::to_string(done) + " of " + CountText(view.steps.size(), "step", "steps"));
  line.Add(Colour::kDim, "  plan " + Printable(view.plan_id) + " " + Printable(view.plan_version));
  return line.Text(look);
}

void RunDrawing::Arrange(const RunView& view, const Look& look) {
  if (steps_ == view.steps.size() && columns_ == look.columns && !rows_.empty()) return;
  rows_ = LayOut(view.steps, look);
  steps_ = view.steps.size();
  columns_ = look.columns;
  name_columns_ = 0;
  for (const TreeRow& row : rows_) {
    const std::size_t columns =
        ColumnsOf(row.indent) + 2 + ColumnsOf(LabelOf(view.steps[row.step]));
    name_columns_ = std::max(name_columns_, columns);
  }
  name_columns_ = std::min({name_columns_, kNameColumnsMax, look.columns / 2});
}

std::vector<std::string> RunDrawing::Lines(const RunView& view, SystemTime now,
                                           std::size_t lines_max, const Look& look) {
  Arrange(view, look);
  std::vector<std::string> lines = {RunTitle(view, now, look)};
  const std::size_t left = lines_max > 2 ? lines_max - 1 : 1;
  const bool all = rows_.size() <= left;
  const std::vector<bool> chosen =
      all ? std::vector<bool>(rows_.size(), true) : Choose(view, rows_, left);
  const StepStyle style{look, now, name_columns_, turn_++, deliver_command_};
  std::vector<const StepView*> unseen;
  const auto count = [&] {
    if (unseen.empty()) return;
    StyledLine line;
    line.Add(Colour::kDim, std::string(look.Glyph("⋯ ", ": ")) + CountsOf(unseen));
    lines.push_back(line.Text(look));
    unseen.clear();
  };
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const StepView& step = view.steps[rows_[i].step];
    if (!chosen[i]) {
      unseen.push_back(&step);
      continue;
    }
    count();
    lines.push_back(LineOfStep(step, rows_[i].indent, style).Text(look));
  }
  count();
  return lines;
}

}  // namespace everstep::cli
