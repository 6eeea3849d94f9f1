#pragma once

#include <string>

#include "everstep/engine.h"
#include "look.h"

namespace everstep::cli {

// Describes a run: its facts, its steps as a tree, its result or error.
std::string RunViewText(const RunView& view, SystemTime now, const std::string& deliver_command,
                        const Look& look);

}  // namespace everstep::cli
