#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "everstep/engine.h"
#include "look.h"

namespace everstep::cli {

// A row of a drawn plan: a step, and what to draw before its name.
struct TreeRow {
  std::size_t step = 0;  // in RunView::steps
  std::string indent;
};

// Lays the steps out as a tree, each below the steps that it depends on. A chain stays at one
// level, the branches of a fork are indented, and a step that joins branches is below them at the
// level of the fork. Plans with more than 2,000 steps become a plain list.
std::vector<TreeRow> LayOut(const std::vector<StepView>& steps, const Look& look);

}  // namespace everstep::cli
