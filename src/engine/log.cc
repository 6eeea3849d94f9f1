#include "everstep/log.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "engine/embedded_log.h"
#include "store/state_store.h"

namespace everstep {

Result<std::unique_ptr<Log>> Log::Open(const LogOptions& options) {
  std::unique_ptr<StateStore> store;
  if (options.directory.empty()) {
    store = OpenMemoryStore();
  } else {
    StoreOptions store_options;
    store_options.create_if_missing = options.create_if_missing;
    store_options.read_only = options.read_only;
    store_options.free_bytes_min = options.free_bytes_min;
    store_options.cache_bytes = options.cache_bytes;
    auto opened = OpenRocksdbStore(options.directory, store_options);
    if (!opened) return std::move(opened).error();
    store = std::move(*opened);
  }
  EmbeddedLog::Options log_options;
  log_options.read_only = options.read_only;
  log_options.memory_bytes_max = options.memory_bytes_max;
  return std::unique_ptr<Log>(
      std::make_unique<EmbeddedLog>(std::move(store), SystemClock(), SystemRandom(), log_options));
}

Status RestoreLog(const std::string& backup, const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code failed;
  if (!fs::is_directory(backup, failed)) {
    return Error{ErrorCode::kStoreNotFound, "there is no backup in " + backup, {}};
  }
  if (fs::exists(directory, failed)) {
    return Error{ErrorCode::kStoreExists, directory + " exists; restore into a new directory", {}};
  }
  // Copied under another name first: a directory with the final name is always whole.
  const std::string partial = directory + ".partial";
  fs::remove_all(partial, failed);
  fs::copy(backup, partial, fs::copy_options::recursive, failed);
  if (failed) {
    return Error{ErrorCode::kStoreIo, "copying " + backup + ": " + failed.message(), {}};
  }
  {
    StoreOptions options;
    options.create_if_missing = false;
    const auto opened = OpenRocksdbStore(partial, options);
    if (!opened) {
      fs::remove_all(partial, failed);
      return opened.error();
    }
  }
  fs::rename(partial, directory, failed);
  if (failed) {
    return Error{ErrorCode::kStoreIo, "renaming " + partial + ": " + failed.message(), {}};
  }
  return Ok();
}

}  // namespace everstep
