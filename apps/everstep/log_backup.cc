#include <string>

#include "commands.h"
#include "everstep/log.h"
#include "output.h"
#include "store_access.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {kStoreOption, kLockTimeoutOption};

ExitCode Run(const Arguments& arguments, Output& out) {
  const std::string& directory = arguments.operands().front();
  const auto log = OpenToWrite(arguments, IfMissing::kFail);
  if (!log) return Fail(log.error());
  const Status copied = (*log)->Backup(directory);
  if (!copied) return Fail(copied.error());
  out.Write("backup of " + Printable(StoreDirectory(arguments)) + " is in " + Printable(directory) +
            "\n");
  return ExitCode::kOk;
}

}  // namespace

const Command kLogBackup{
    "log backup",
    "DIR",
    1,
    1,
    "Make a complete, consistent copy of a store in a new directory.",
    "On the same file system the copy shares its files with the store and is quick.",
    kOptions,
    Run,
};

}  // namespace everstep::cli
