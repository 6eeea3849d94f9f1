#include <string>

#include "commands.h"
#include "everstep/log.h"
#include "output.h"
#include "run_list.h"
#include "store_access.h"

namespace everstep::cli {
namespace {

constexpr auto kOptions = RunListOptions(kStoreOption);

ExitCode Run(const Arguments& arguments, Output& out) {
  const auto log = OpenToRead(arguments);
  if (!log) return Fail(log.error());
  return WriteRunList(arguments, **log, out);
}

}  // namespace

const Command kLogRuns{
    "log runs",
    "",
    0,
    0,
    "List runs, newest first.",
    "The store maintains the totals at the end, so showing them costs nothing.",
    kOptions,
    Run,
};

}  // namespace everstep::cli
