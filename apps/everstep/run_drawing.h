#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "everstep/engine.h"
#include "look.h"
#include "step_tree.h"

namespace everstep::cli {

// Draws a run: a title line and a line for each step, in the order of the plan. Keeps the layout of
// the plan between drawings of the same run. Not thread-safe.
class RunDrawing {
 public:
  // `deliver_command` is shown before the token of a step that waits for one.
  explicit RunDrawing(std::string deliver_command) : deliver_command_(std::move(deliver_command)) {}

  // Returns at most `lines_max` lines, each at most look.columns wide. If there are more steps, the
  // most relevant ones are shown and the others are counted in between.
  std::vector<std::string> Lines(const RunView& view, SystemTime now, std::size_t lines_max,
                                 const Look& look);

 private:
  void Arrange(const RunView& view, const Look& look);

  const std::string deliver_command_;
  std::vector<TreeRow> rows_;
  std::size_t name_columns_ = 0;
  std::size_t steps_ = 0;    // in the layout
  std::size_t columns_ = 0;  // of the terminal that the layout was made for
  std::size_t turn_ = 0;
};

// "order-1  RUNNING  plan order 1  3.20 s  4 of 9 steps"
std::string RunTitle(const RunView& view, SystemTime now, const Look& look);

// "4 done, 1 failed, 2 running, 3 to come"
std::string StepCounts(const RunView& view);

bool HasEnded(std::string_view status);

}  // namespace everstep::cli
