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
    "settings [default: $EVERSTEP_CONFIG, else everstep.yaml in the data folder]"};

// `first` and the flags of the table of settings.
std::vector<OptionSpec> WithSettingFlags(std::vector<OptionSpec> first);

// What a server on the folder is told: by `file`, else the file that kConfigOption speaks of (one
// in the folder need not be there); by the environment; by those of the table's flags that the
// command has and was given. Faults name file, line and column. kInvalidArgument, kPlanUnavailable.
Result<LoadedSettings> SettingsFor(const Arguments& arguments, const Folder& folder,
                                   const std::string& file);

// Whether a server can be started with them (serve/server.h); faults say who gave the value.
Status CheckServable(const LoadedSettings& loaded);

// Of LoadedSettings::strange_variables.
std::string StrangeVariableText(std::string_view variable);

}  // namespace everstep::cli
