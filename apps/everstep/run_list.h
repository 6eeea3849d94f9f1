#pragma once

#include "arguments.h"
#include "everstep/log.h"
#include "output.h"

namespace everstep::cli {

// Writes the runs that the options tenant, project, environment, status, plan, since, until, limit
// and cursor ask for, newest first, and the tenant's totals, in the form of the option output.
ExitCode WriteRunList(const Arguments& arguments, Log& log, Output& out);

}  // namespace everstep::cli
