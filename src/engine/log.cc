#include "everstep/log.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/random.h"
#include "base/watched_clock.h"
#include "engine/embedded_log.h"
#include "engine/event_view.h"
#include "store/salvage.h"
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
  return std::unique_ptr<Log>(std::make_unique<EmbeddedLog>(std::move(store), WatchedSystemClock(),
                                                            SystemRandom(), log_options));
}

Status RestoreLog(const std::string& backup, const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code failed;
  if (!fs::is_directory(backup, failed)) {
    return Error{ErrorCode::kStoreNotFound, "there is no backup in " + backup, {}};
  }
  if (fs::exists(directory, failed) && !fs::is_empty(directory, failed)) {
    return Error{ErrorCode::kStoreExists, directory + " exists; restore into a new directory", {}};
  }
  // Copy to a temporary name first, so that `directory` is complete if it exists.
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

Result<SalvagedLog> SalvageLog(
    const std::string& damaged, const std::string& directory,
    const std::function<void(const std::string& run_id, const LogEvent& event)>& after_gap) {
  auto report = SalvageStore(damaged, directory, [&](const StoredRun& run, const Event& event) {
    std::vector<LogEvent> views;
    AddViews(Dialect::kNative, run, event, views);
    for (const LogEvent& view : views) after_gap(run.run_id.value(), view);
  });
  if (!report) return std::move(report).error();
  SalvagedLog log;
  log.damage = std::move(report->damage);
  log.rows_lost = report->rows_lost;
  log.runs = report->runs;
  log.events = report->events;
  log.events_after_gaps = report->events_after_gaps;
  for (SalvagedRun& run : report->incomplete) {
    log.incomplete.push_back({std::move(run.run_id), std::move(run.tenant_id), run.events_kept,
                              std::move(run.missing), run.row_lost});
  }
  return log;
}

}  // namespace everstep
