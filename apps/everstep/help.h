#pragma once

#include <string>
#include <string_view>

#include "arguments.h"
#include "look.h"

namespace everstep::cli {

// Returns the help text of one command.
std::string HelpOf(const Command& command, const Look& look);

// Returns whether commands begin with this word, as "log append" begins with "log".
bool IsGroup(std::string_view word);

// Returns the list of all commands, or of those in `group` if it is not empty.
std::string HelpOfAll(std::string_view group, const Look& look);

// Returns "; did you mean 'log append'?", or nothing if no command is similar.
std::string CommandSuggestion(std::string_view words);

}  // namespace everstep::cli
