#include "commands.h"
#include "output.h"
#include "run_list.h"
#include "store_access.h"
#include "store_command.h"
#include "tenant_counts_text.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {
    kFolderOption,
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
    kWaitOption,
};

ExitCode OnLog(const LogCall& call) { return WriteRunList(call.arguments, call.store, call.out); }

constexpr StoreCommand kOnStore{nullptr, OnLog};

}  // namespace

const Command kLs{
    "ls", "",       0,          0,         "List the runs of the data folder, newest first.",
    "",   kOptions, RunOnStore, &kOnStore,
};

}  // namespace everstep::cli
