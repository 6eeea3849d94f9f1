#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/source_tree.h"

namespace everstep {

// A module and the modules whose headers it may include.
using Layers = std::map<std::string, std::set<std::string>>;

// The text of src/LAYERS: lines "module <- module module"; '#' begins a comment.
Layers ParseLayers(std::string_view text);

// Reports modules that are named but not defined, and modules that depend on themselves.
std::vector<Finding> CheckLayers(const Layers& layers);

// Reports every include of a file in src/, include/ or apps/ that its module's line does not allow.
std::vector<Finding> CheckIncludes(const Layers& layers, const SourceFile& file);

}  // namespace everstep
