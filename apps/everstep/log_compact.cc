#include <string>

#include "commands.h"
#include "everstep/log.h"
#include "output.h"
#include "store_access.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {kStoreOption, kLockTimeoutOption};

ExitCode Run(const Arguments& arguments, Output& out) {
  const auto log = OpenToWrite(arguments, IfMissing::kFail);
  if (!log) return Fail(log.error());
  const std::uint64_t before = (*log)->Health("default").disk_bytes;
  const Status compacted = (*log)->Compact();
  if (!compacted) return Fail(compacted.error());
  out.Write("compacted: " + BytesText(before) + " before, " +
            BytesText((*log)->Health("default").disk_bytes) + " now\n");
  return ExitCode::kOk;
}

}  // namespace

const Command kLogCompact{
    "log compact", "",  0, 0, "Rewrite the files of a store to free the space of removed data.", "",
    kOptions,      Run,
};

}  // namespace everstep::cli
