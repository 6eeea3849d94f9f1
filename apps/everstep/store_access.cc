#include "store_access.h"

#include <algorithm>
#include <cstdlib>

#include "data_folder.h"
#include "interrupt.h"

namespace everstep::cli {
namespace {

constexpr std::chrono::milliseconds kRetryEvery{50};

bool HasOption(const Arguments& arguments, std::string_view name) {
  return std::ranges::find(arguments.command().options, name, &OptionSpec::name) !=
         arguments.command().options.end();
}

}  // namespace

std::string StoreDirectory(const Arguments& arguments) {
  if (arguments.Has("store")) return arguments.Text("store");
  const char* from_environment = std::getenv("EVERSTEP_STORE");
  return from_environment != nullptr && *from_environment != '\0' ? from_environment
                                                                  : "everstep-data";
}

Result<std::unique_ptr<Log>> OpenToRead(const Arguments& arguments) {
  LogOptions options;
  options.directory = StoreDirectory(arguments);
  options.create_if_missing = false;
  options.read_only = true;
  return Log::Open(options);
}

Result<std::unique_ptr<Log>> OpenToWrite(const Arguments& arguments, IfMissing if_missing) {
  LogOptions options;
  options.directory = StoreDirectory(arguments);
  options.create_if_missing = if_missing == IfMissing::kCreate;
  if (HasOption(arguments, kMinFreeOption.name)) {
    options.free_bytes_min = arguments.Number(kMinFreeOption.name);
  }
  auto left = arguments.Duration(kLockTimeoutOption.name);
  while (true) {
    auto log = Log::Open(options);
    const bool is_locked = !log && log.error().code == ErrorCode::kStoreLocked;
    if (is_locked && (left.count() <= 0 || Interrupted())) {
      return WithOwner(std::move(log).error(), options.directory);
    }
    if (!is_locked) return log;
    const auto pause = std::min(left, kRetryEvery);
    WaitForInput(-1, pause);
    left -= pause;
  }
}

}  // namespace everstep::cli
