#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "everstep/engine.h"
#include "look.h"

namespace everstep::cli {

// A step's place in a drawing of its plan: what stands before its name.
struct TreeRow {
  std::size_t step = 0;  // in RunView::steps
  std::string indent;
};

// Steps below those they depend on. A chain stays at one level, where it forks the branches are
// indented, and a step that joins branches stands below them at the level of the fork. Plans of
// more than some thousand steps are a plain list.
std::vector<TreeRow> LayOut(const std::vector<StepView>& steps, const Look& look);

}  // namespace everstep::cli
