#include "store/rocksdb_options.h"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>

#include <algorithm>
#include <cstdarg>
#include <memory>
#include <string>

#include "store/corrupt_row.h"
#include "store/row_memtable.h"

namespace everstep {
namespace {

rocksdb::CompressionType FirstSupported(std::initializer_list<rocksdb::CompressionType> wanted) {
  const auto supported = rocksdb::GetSupportedCompressions();
  for (const rocksdb::CompressionType type : wanted) {
    if (std::ranges::find(supported, type) != supported.end()) return type;
  }
  return rocksdb::kNoCompression;
}

// Everything that matters is returned as a status. RocksDB's own log is a file on the same disk,
// and Debian's build aborts the process if it writes to that log after the disk was full.
class SilentLogger final : public rocksdb::Logger {
 public:
  SilentLogger() : rocksdb::Logger(rocksdb::InfoLogLevel::HEADER_LEVEL) {}
  using rocksdb::Logger::Logv;
  void Logv(const char*, std::va_list) override {}
};

rocksdb::ColumnFamilyOptions TableOptions(Table table, const StoreOptions& options,
                                          const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions blocks;
  blocks.block_cache = cache;
  // Indexes and filters count against the cache, so that memory has one bound.
  blocks.cache_index_and_filter_blocks = true;
  blocks.pin_l0_filter_and_index_blocks_in_cache = true;
  blocks.format_version = 5;
  if (table == Table::kRuns || table == Table::kKeys || table == Table::kEntities) {
    blocks.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    blocks.whole_key_filtering = true;
  }
  rocksdb::ColumnFamilyOptions family;
  family.write_buffer_size = options.write_buffer_bytes / 4;
  family.arena_block_size = 256 << 10;
  family.max_write_buffer_number = 3;
  family.level_compaction_dynamic_level_bytes = true;
  family.compression = rocksdb::kNoCompression;
  if (table == Table::kEvents) {
    // JSON payloads make up most of the bytes. The compression is the same on every level, so that
    // files with consecutive keys, such as those of a long run, move down without being rewritten.
    family.compression = FirstSupported({rocksdb::kLZ4Compression});
    blocks.block_size = 16 << 10;
  } else {
    // These rows are overwritten often and in no order of time. Each compaction rewrites the files
    // that it overlaps below, so compact less often. Filters keep lookups cheap meanwhile.
    family.level0_file_num_compaction_trigger = 8;
  }
  family.memtable_factory = NewRowMemtables();
  if (table == Table::kKeys) {
    // Nearly every append looks up a key that does not exist.
    family.memtable_prefix_bloom_size_ratio = 0.02;
    family.memtable_whole_key_filtering = true;
  }
  if (table == Table::kIndex) {
    // Timers, status rows and the outbox leave many deleted rows. Files full of them are rewritten
    // early, so that scans do not have to skip them.
    family.table_properties_collector_factories.push_back(
        rocksdb::NewCompactOnDeletionCollectorFactory(4096, 1024));
  }
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(blocks));
  return family;
}

}  // namespace

rocksdb::DBOptions EngineOptions(const StoreOptions& options) {
  rocksdb::DBOptions engine;
  engine.create_if_missing = !options.read_only;
  engine.create_missing_column_families = !options.read_only;
  // Every write is synced before it is acknowledged, so a torn record at the end of the log was
  // never acknowledged and recovery may stop there. That it is torn and not damaged is checked
  // before (store/store_files.h). Log files are not recycled, because old bytes after the end
  // cannot be distinguished from a torn record.
  engine.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  engine.recycle_log_file_num = 0;
  // A complete log file that is missing or has shrunk is damage, not a torn end.
  engine.track_and_verify_wals_in_manifest = !options.read_only;
  engine.max_total_wal_size = 2 * options.write_buffer_bytes;
  engine.db_write_buffer_size = options.write_buffer_bytes;
  // One thread writes.
  engine.allow_concurrent_memtable_write = false;
  engine.enable_write_thread_adaptive_yield = false;
  engine.max_background_jobs = 2;
  engine.bytes_per_sync = 1 << 20;
  // A secondary must keep its files open, because the owner may delete them.
  engine.max_open_files = options.read_only ? -1 : 512;
  engine.max_file_opening_threads = 2;
  engine.table_cache_numshardbits = 4;
  engine.max_manifest_file_size = 16 << 20;
  engine.info_log = std::make_shared<SilentLogger>();
  engine.stats_dump_period_sec = 0;
  engine.stats_persist_period_sec = 0;
  return engine;
}

std::vector<rocksdb::ColumnFamilyDescriptor> TableFamilies(const StoreOptions& options) {
  constexpr int kCacheShardBits = 2;
  const auto cache = rocksdb::NewLRUCache(options.cache_bytes, kCacheShardBits);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (int i = 0; i < kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    // RocksDB requires a column family with its default name; it serves as the first table.
    const std::string name =
        table == Table::kMeta ? rocksdb::kDefaultColumnFamilyName : std::string(Name(table));
    families.emplace_back(name, TableOptions(table, options, cache));
  }
  return families;
}

}  // namespace everstep
