#pragma once

#include <string>

#include "everstep/engine.h"
#include "look.h"
#include "styled_line.h"

namespace everstep::cli {

// How to draw a step at a given time.
struct StepStyle {
  const Look& look;
  SystemTime now;
  std::size_t name_columns = 0;      // names are padded to this
  std::size_t turn = 0;              // of the spinner of running steps; 0: no spinner
  std::string deliver_command = {};  // shown before a token: "everstep deliver"
};

// Returns a line with glyph, name, duration, attempts and details: the countdown to a retry or the
// end of a wait, the progress of a loop, the error, the token that the step waits for.
StyledLine LineOfStep(const StepView& step, std::string_view indent, const StepStyle& style);

// Returns the name of the step, or its id if it has no name.
std::string LabelOf(const StepView& step);

// Returns "[#####-----] 50/100, 2 failed, 8 running".
std::string ProgressBar(const StepView& step, std::size_t columns, const Look& look);

}  // namespace everstep::cli
