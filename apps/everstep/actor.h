#pragma once

#include "arguments.h"
#include "everstep/engine.h"

namespace everstep::cli {

inline constexpr std::string_view kRoles[] = {"Viewer", "Operator", "Engineer", "Admin", "System"};
inline constexpr OptionSpec kRoleOption{
    "role",  OptionKind::kWord,
    "ROLE",  "act as Viewer, Operator, Engineer, Admin or System",
    "Admin", kRoles};

// Returns the user of this process with `role`. The role is not checked: whoever can open the store
// may do anything with it.
Actor LocalActor(std::string_view role);

}  // namespace everstep::cli
