#pragma once

#include <string>
#include <string_view>

#include "arguments.h"
#include "look.h"

namespace everstep::cli {

// Of one command, made from its table.
std::string HelpOf(const Command& command, const Look& look);

// Do commands begin with this word, as "log append" does with "log"?
bool IsGroup(std::string_view word);

// Of all commands, or of those of one group.
std::string HelpOfAll(std::string_view group, const Look& look);

// "; did you mean 'log append'?" or nothing.
std::string CommandSuggestion(std::string_view words);

}  // namespace everstep::cli
