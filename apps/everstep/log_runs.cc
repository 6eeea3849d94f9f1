#include <string>

#include "commands.h"
#include "everstep/log.h"
#include "output.h"
#include "run_list.h"
#include "store_access.h"
#include "tenant_counts_text.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {
    kStoreOption,
    kTenantOption,
    {"project", OptionKind::kText, "ID", "only of this project"},
    {"environment", OptionKind::kText, "ID", "only of this environment"},
    {"status", OptionKind::kWord, "STATUS", "only in this status", "", kRunStatuses},
    {"plan", OptionKind::kText, "NAME", "only of this plan"},
    {"since", OptionKind::kMoment, "TIME", "only created at or after (1h, or a time)"},
    {"until", OptionKind::kMoment, "TIME", "only created before"},
    {"limit", OptionKind::kCount, "N", "at most so many, up to 1000", "50"},
    {"cursor", OptionKind::kText, "CURSOR", "go on behind the page that ended with this"},
    kOutputOption,
};

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
    "The totals at the end are kept by the store, not counted: they cost nothing.",
    kOptions,
    Run,
};

}  // namespace everstep::cli
