#include <string>

#include "commands.h"
#include "everstep/log.h"
#include "output.h"
#include "store_access.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {kStoreOption};

ExitCode Run(const Arguments& arguments, Output& out) {
  const std::string& backup = arguments.operands().front();
  const std::string directory = StoreDirectory(arguments);
  const Status restored = RestoreLog(backup, directory);
  if (!restored) return Fail(restored.error());
  out.Write("restored " + Printable(backup) + " to " + Printable(directory) + "\n");
  return ExitCode::kOk;
}

}  // namespace

const Command kLogRestore{
    "log restore",
    "BACKUP",
    1,
    1,
    "Create a store from a backup. The directory of the store must not exist.",
    "The backup is not changed.",
    kOptions,
    Run,
};

}  // namespace everstep::cli
