#pragma once

#include "arguments.h"
#include "everstep/engine.h"

namespace everstep::cli {

inline constexpr std::string_view kRoles[] = {"Viewer", "Operator", "Engineer", "Admin", "System"};
inline constexpr OptionSpec kRoleOption{
    "role",  OptionKind::kWord,
    "ROLE",  "act as Viewer, Operator, Engineer, Admin or System",
    "Admin", kRoles};

// The user of this process, who owns the store and may therefore do anything with it.
Actor LocalActor(std::string_view role);

}  // namespace everstep::cli
