#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "data_folder.h"
#include "everstep/result.h"
#include "serve/settings.h"

namespace everstep::cli {

inline constexpr OptionSpec kConfigOption{
    "config", OptionKind::kText, "FILE",
    "the settings file [default: $EVERSTEP_CONFIG, else everstep.yaml in the data folder]"};

// Returns `first` followed by the flags of all settings that have one.
std::vector<OptionSpec> WithSettingFlags(std::vector<OptionSpec> first);

// Loads the settings of a server on the folder: from `file` or, if it is empty, the file that
// kConfigOption describes (everstep.yaml in the folder is optional); from the environment; and from
// the flags given to the command. Faults name file, line and column. Fails with kInvalidArgument.
Result<LoadedSettings> SettingsFor(const Arguments& arguments, const Folder& folder,
                                   const std::string& file);

// Checks that a server can be started with the settings (serve/server.h). Faults name the source of
// the value.
Status CheckServable(const LoadedSettings& loaded);

// The warning for one of LoadedSettings::strange_variables.
std::string StrangeVariableText(std::string_view variable);

}  // namespace everstep::cli
