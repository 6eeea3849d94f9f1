#include <chrono>
#include <string>

#include "commands.h"
#include "everstep/log.h"
#include "output.h"
#include "store_access.h"

namespace everstep::cli {
namespace {

constexpr std::string_view kEndedStatuses[] = {"COMPLETED", "FAILED", "CANCELLED"};
constexpr OptionSpec kOptions[] = {
    kStoreOption,
    kTenantOption,
    {"older-than",
     OptionKind::kDuration,
     "TIME",
     "remove runs whose last event is older",
     "",
     {},
     true},
    {"status", OptionKind::kWord, "STATUS", "only runs with this final status [default: all three]",
     "", kEndedStatuses},
    {"tombstones", OptionKind::kDuration, "TIME", "how long the ids of removed runs stay reserved",
     "30d"},
    kLockTimeoutOption,
};

ExitCode Run(const Arguments& arguments, Output& out) {
  const auto log = OpenToWrite(arguments, IfMissing::kFail);
  if (!log) return Fail(log.error());
  const auto seconds = [&](std::string_view option) {
    return std::chrono::floor<std::chrono::seconds>(arguments.Duration(option));
  };
  RetentionPolicy policy;
  policy.tenant_id = arguments.Text("tenant");
  policy.status = arguments.Text("status");
  policy.older_than = seconds("older-than");
  policy.tombstones_for = seconds("tombstones");
  const auto removed = (*log)->ApplyRetention(policy);
  if (!removed) return Fail(removed.error());
  out.Write("removed " + CountText(*removed, "run", "runs") + "\n");
  return ExitCode::kOk;
}

}  // namespace

const Command kLogRetain{
    "log retain",
    "",
    0,
    0,
    "Remove whole runs that ended long ago.",
    "The ids of removed runs stay reserved for a while, so that a late duplicate of an event\n"
    "cannot start the run again.",
    kOptions,
    Run,
};

}  // namespace everstep::cli
