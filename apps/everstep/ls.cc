#include "commands.h"
#include "output.h"
#include "run_list.h"
#include "store_command.h"

namespace everstep::cli {
namespace {

constexpr auto kOptions =
    RunListOptions(kFolderOption, kServerOption, kTokenFileOption, kCaFileOption, kWaitOption);

ExitCode OnLog(const LogCall& call) { return WriteRunList(call.arguments, call.store, call.out); }

constexpr StoreCommand kOnStore{nullptr, OnLog};

}  // namespace

const Command kLs{
    "ls", "",       0,          0,         "List the runs of the data folder, newest first.",
    "",   kOptions, RunOnStore, &kOnStore,
};

}  // namespace everstep::cli
