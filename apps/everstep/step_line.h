#pragma once

#include <string>

#include "everstep/engine.h"
#include "look.h"
#include "styled_line.h"

namespace everstep::cli {

// How a step is drawn at a moment.
struct StepStyle {
  const Look& look;
  SystemTime now;
  std::size_t name_columns = 0;      // names are padded to this
  std::size_t turn = 0;              // of the wheel beside running steps; zero: it stands still
  std::string deliver_command = {};  // shown before a token: "everstep deliver"
};

// Glyph, name, duration, attempts, and what there is to say: the countdown to a retry or the end of
// a wait, a loop's progress, the error, the token it waits for.
StyledLine LineOfStep(const StepView& step, std::string_view indent, const StepStyle& style);

// What people call the step.
std::string LabelOf(const StepView& step);

// "[#####-----] 50/100, 2 failed, 8 running"
std::string ProgressBar(const StepView& step, std::size_t columns, const Look& look);

}  // namespace everstep::cli
