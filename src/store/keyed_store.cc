#include "store/keyed_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/assert.h"
#include "store/change_encoder.h"
#include "store/corrupt_row.h"
#include "store/keyed_check.h"
#include "store/keyed_reader.h"
#include "store/run_removal.h"
#include "store/sink_rows.h"
#include "store/tenant_counts.h"

namespace everstep {
namespace {

constexpr std::size_t kRunsPerVisit = 256;

class KeyedStore final : public StateStore {
 public:
  KeyedStore(std::unique_ptr<KeyValue> tables, StoreAccess access)
      : tables_(std::move(tables)), access_(access) {}

  Status Open();

  std::unique_ptr<StateReader> Read() override { return NewReader(); }
  Status VisitRuns(const std::function<Status(const StoredRun&)>& visit) override;
  Status VisitActive(const std::function<Status(const StoredRun&)>& visit) override;
  Status Refresh() override;

  using StateStore::Commit;
  Status Commit(std::span<const RunChange* const> changes,
                std::span<const TenantDocument* const> documents) override;
  Status Quarantine(const RunId& run_id, std::string_view reason) override;
  Status PutPlan(const Sha256Digest& sha256, std::string_view document) override;
  Status MoveSink(const SinkMove& move) override;
  Status RemoveSink(const SinkKey& key) override;
  Status Purge(std::span<const RunId> runs, Timestamp now, Timestamp expired) override;

  RunNo LastRunNo() override { return heads().last_run; }
  Position LastPosition() override { return heads().last_position; }
  Timestamp LastPersistedAt() override { return heads().last_persisted_at; }
  Status Backup(const std::string& directory) override { return tables_->Backup(directory); }
  Status Compact() override { return tables_->Compact(); }
  Status Health() override;
  Status Check(const std::function<void(StoreFault)>& report) override;
  std::uint64_t DiskBytes() override { return tables_->DiskBytes(); }

 private:
  std::unique_ptr<KeyedReader> NewReader() const {
    return std::make_unique<KeyedReader>(tables_->View(), &damage_);
  }
  StoreHeads heads() const {
    const std::lock_guard lock(heads_mutex_);
    return heads_;
  }
  void SetHeads(const StoreHeads& heads) {
    const std::lock_guard lock(heads_mutex_);
    heads_ = heads;
  }
  Result<bool> HasFormat();  // false: the tables are empty
  Status LoadCounts(TableView& view);
  // Updates the byte counts of the tenants for the documents of a write.
  Status CountDocuments(std::span<const TenantDocument* const> documents);
  // Adds the documents and the edited counts to a write.
  Status AddDocuments(std::span<const TenantDocument* const> documents, WriteBatch& batch);
  Status MayWrite() const;
  // Writes the batch. If it is durable, adopts the edited counts and the heads `after`.
  Status Write(WriteBatch& batch, const StoreHeads& after);

  const std::unique_ptr<KeyValue> tables_;
  mutable FirstDamage damage_;
  const StoreAccess access_;
  std::atomic<bool> stopped_ = false;
  std::string stop_reason_;  // written once, before stopped_
  mutable std::mutex heads_mutex_;
  StoreHeads heads_;
  // Used by the functions that write: one caller at a time.
  TenantCounts counts_;
  ChangeEncoder encoder_{counts_};
};

Status KeyedStore::Open() {
  const auto formatted = HasFormat();
  if (!formatted) return formatted.error();
  if (!*formatted) {
    if (access_ == StoreAccess::kReadOnly) {
      return Error{ErrorCode::kStoreNotFound, "the store is still being created", {}};
    }
    std::string version;
    EncodeNumber(kStoreFormat, version);
    const auto batch = tables_->NewBatch();
    batch->Put(Table::kMeta, RowKeys().Format(), version);
    const Status written = tables_->Write(*batch);
    if (!written) return written;
  }
  const auto reader = NewReader();
  const auto heads = reader->Heads();
  if (!heads) return heads.error();
  SetHeads(*heads);
  return access_ == StoreAccess::kOwner ? LoadCounts(reader->view()) : Ok();
}

Result<bool> KeyedStore::HasFormat() {
  const auto view = tables_->View();
  auto row = view->Get(Table::kMeta, RowKeys().Format());
  if (!row) return At({.table = Table::kMeta}, std::move(row).error());
  if (!*row) {
    for (int table = 0; table < kTableCount; ++table) {
      const auto first = view->Seek(static_cast<Table>(table), {});
      if (!first->status()) return first->status().error();
      if (!first->Valid()) continue;
      return CorruptRow({.table = Table::kMeta}, "there are rows, but no format version");
    }
    return false;
  }
  const auto version = DecodeNumber(**row);
  if (!version || *version == 0) {
    return CorruptRow({.table = Table::kMeta}, "the format version cannot be read");
  }
  if (*version > kStoreFormat) {
    return Error{ErrorCode::kStoreFormatNewer,
                 "the store has format " + std::to_string(*version) +
                     "; this version reads up to format " + std::to_string(kStoreFormat),
                 {}};
  }
  return true;
}

Status KeyedStore::LoadCounts(TableView& view) {
  const std::string prefix(RowKeys().Kind(RowKind::kCounts));
  auto row = view.Seek(Table::kMeta, prefix);
  for (; row->Valid() && row->key().starts_with(prefix); row->Next()) {
    const auto counts = DecodeCounts(row->value());
    if (!counts) return CorruptRow({.table = Table::kMeta}, "a tenant's counts cannot be read");
    counts_.Load(std::string(row->key().substr(prefix.size())), *counts);
  }
  return row->status();
}

Status KeyedStore::Refresh() {
  if (access_ == StoreAccess::kOwner) return Ok();
  const Status refreshed = tables_->Refresh();
  if (!refreshed) return refreshed;
  const auto heads = NewReader()->Heads();
  if (!heads) return heads.error();
  SetHeads(*heads);
  return Ok();
}

Status KeyedStore::VisitRuns(const std::function<Status(const StoredRun&)>& visit) {
  RunNo next(1);
  while (next != RunNo()) {
    // No view is open during `visit`, so that it may write.
    const auto runs = NewReader()->RunsFrom(next, kRunsPerVisit, next);
    if (!runs) return runs.error();
    for (const StoredRun& run : *runs) {
      const Status visited = visit(run);
      if (!visited) return visited;
    }
  }
  return Ok();
}

Status KeyedStore::VisitActive(const std::function<Status(const StoredRun&)>& visit) {
  const auto tenants = NewReader()->Tenants();
  if (!tenants) return tenants.error();
  for (const std::string& tenant_id : *tenants) {
    for (const RunStatus status :
         {RunStatus::kRunning, RunStatus::kPaused, RunStatus::kApproved, RunStatus::kPending}) {
      RunQuery query{.tenant_id = tenant_id, .status = status, .limit = kRunsPerVisit};
      do {
        const auto page = NewReader()->ListRuns(query);
        if (!page) return page.error();
        for (const StoredRun& run : page->runs) {
          if (!run.quarantine.empty()) continue;
          const Status visited = visit(run);
          if (!visited) return visited;
        }
        query.cursor = page->cursor;
      } while (!query.cursor.empty());
    }
  }
  return Ok();
}

Status KeyedStore::MayWrite() const {
  if (access_ == StoreAccess::kReadOnly) {
    return Error{ErrorCode::kStoreReadOnly, "the store was opened read-only", {}};
  }
  if (stopped_.load(std::memory_order_acquire)) {
    return Error{ErrorCode::kStoreStopped,
                 "an earlier write failed, so it is unknown what is durable; reopen the store. The "
                 "failure: " +
                     stop_reason_,
                 {}};
  }
  return Ok();
}

Status KeyedStore::Write(WriteBatch& batch, const StoreHeads& after) {
  EVERSTEP_ASSERT(access_ == StoreAccess::kOwner && !stopped_.load(std::memory_order_relaxed));
  const StoreHeads before = heads();
  EVERSTEP_ASSERT(after.last_run >= before.last_run);
  EVERSTEP_ASSERT(after.last_position >= before.last_position);
  EVERSTEP_ASSERT(after.last_persisted_at >= before.last_persisted_at);
  const Status written = tables_->Write(batch);
  if (written) {
    counts_.Keep();
    SetHeads(after);
    return Ok();
  }
  counts_.Drop();
  if (written.error().code == ErrorCode::kStoreFull) return written;
  if (!stopped_.load(std::memory_order_relaxed)) stop_reason_ = written.error().message;
  stopped_.store(true, std::memory_order_release);
  return Error{ErrorCode::kIndeterminate, written.error().message, {}};
}

Status KeyedStore::Commit(std::span<const RunChange* const> changes,
                          std::span<const TenantDocument* const> documents) {
  const Status may = MayWrite();
  if (!may || (changes.empty() && documents.empty())) return may;
  EVERSTEP_ASSERT(counts_.settled());
  const auto batch = tables_->NewBatch();
  StoreHeads after = heads();
  if (!changes.empty()) encoder_.Encode(changes, after, *batch);
  EVERSTEP_ASSERT(after.last_position.value() == heads().last_position.value() + changes.size());
  const Status added = AddDocuments(documents, *batch);
  if (!added) return added;
  return Write(*batch, after);
}

Status KeyedStore::AddDocuments(std::span<const TenantDocument* const> documents,
                                WriteBatch& batch) {
  const Status counted = CountDocuments(documents);
  if (!counted) {
    counts_.Drop();
    return counted;
  }
  RowKeys keys;
  counts_.PutEdits(keys, batch);
  for (const TenantDocument* document : documents) {
    EVERSTEP_ASSERT(document->key.kind != DocumentKind{} && !document->key.name.empty());
    if (document->text) {
      batch.Put(Table::kMeta, keys.Document(document->key), *document->text);
    } else {
      batch.Delete(Table::kMeta, keys.Document(document->key));
    }
  }
  return Ok();
}

Status KeyedStore::CountDocuments(std::span<const TenantDocument* const> documents) {
  if (documents.empty()) return Ok();
  const auto reader = NewReader();
  std::map<DocumentKey, std::optional<std::uint64_t>> sizes;  // after this write
  for (const TenantDocument* document : documents) {
    if (document->key.tenant_id.empty()) continue;  // belongs to no tenant
    const auto [entry, is_new] = sizes.try_emplace(document->key);
    std::optional<std::uint64_t>& size = entry->second;
    if (is_new) {
      const auto before = reader->FindDocument(document->key);
      if (!before) return before.error();
      if (*before) size = (*before)->size();
    }
    StoreCounts& counts = counts_.Edit(document->key.tenant_id);
    if (!size && document->text) counts.file_bytes += document->file_bytes;
    counts.row_bytes -= std::min(counts.row_bytes, size.value_or(0));
    size.reset();
    if (document->text) size = document->text->size();
    counts.row_bytes += size.value_or(0);
  }
  return Ok();
}

Status KeyedStore::Quarantine(const RunId& run_id, std::string_view reason) {
  const Status may = MayWrite();
  if (!may) return may;
  const auto run = NewReader()->FindRunNo(run_id);
  if (!run) return run.error();
  if (!*run) {
    return Error{ErrorCode::kRunNotFound, "there is no run " + run_id.value(), {}};
  }
  const auto batch = tables_->NewBatch();
  batch->Put(Table::kMeta, RowKeys().Quarantine(**run),
             reason.empty() ? "no reason given" : reason);
  return Write(*batch, heads());
}

Status KeyedStore::PutPlan(const Sha256Digest& sha256, std::string_view document) {
  const Status may = MayWrite();
  if (!may) return may;
  const auto batch = tables_->NewBatch();
  batch->Put(Table::kMeta, RowKeys().Plan(sha256), document);
  return Write(*batch, heads());
}

Status KeyedStore::MoveSink(const SinkMove& move) {
  const Status may = MayWrite();
  if (!may) return may;
  const auto batch = tables_->NewBatch();
  {
    const auto reader = NewReader();
    const Status planned = PutSinkMove(*reader, move, *batch);
    if (!planned) return planned;
  }
  if (move.definition) {
    const TenantDocument document{SinkDocumentKey(move.mark.key), move.definition};
    const Status added = AddDocuments(std::array{&document}, *batch);
    if (!added) return added;
  }
  return Write(*batch, heads());
}

Status KeyedStore::RemoveSink(const SinkKey& key) {
  const Status may = MayWrite();
  if (!may) return may;
  const auto batch = tables_->NewBatch();
  {
    const auto reader = NewReader();
    const Status planned = PutSinkRemoval(*reader, key, *batch);
    if (!planned) return planned;
  }
  const TenantDocument document{SinkDocumentKey(key), std::nullopt};
  const Status added = AddDocuments(std::array{&document}, *batch);
  if (!added) return added;
  return Write(*batch, heads());
}

Status KeyedStore::Purge(std::span<const RunId> runs, Timestamp now, Timestamp expired) {
  const Status may = MayWrite();
  if (!may) return may;
  EVERSTEP_ASSERT(counts_.settled());
  const auto batch = tables_->NewBatch();
  StoreHeads after = heads();
  {
    const auto reader = NewReader();
    RunRemoval removal(*reader, counts_, *batch);
    Status planned = removal.ExpireTombstones(expired);
    for (std::size_t i = 0; planned && i < runs.size(); ++i) planned = removal.Remove(runs[i], now);
    if (planned) planned = removal.Finish(after);
    if (!planned) {
      counts_.Drop();
      return planned;
    }
  }
  RowKeys keys;
  counts_.PutEdits(keys, *batch);
  return Write(*batch, after);
}

Status KeyedStore::Health() {
  if (access_ == StoreAccess::kOwner) {
    const Status may = MayWrite();
    if (!may) return may;
  }
  if (const auto damage = damage_.first()) return *damage;
  return tables_->Health();
}

Status KeyedStore::Check(const std::function<void(StoreFault)>& report) {
  const Status files = tables_->CheckFiles();
  if (!files && files.error().code != ErrorCode::kStoreCorrupt) return files;
  if (!files) report({{}, files.error().message});
  const auto reader = NewReader();
  return CheckRows(*reader, report);
}

}  // namespace

Status StateStore::PutDocuments(std::span<const TenantDocument> documents) {
  std::vector<const TenantDocument*> pointers;
  pointers.reserve(documents.size());
  for (const TenantDocument& document : documents) pointers.push_back(&document);
  return Commit({}, pointers);
}

Result<std::unique_ptr<StateStore>> OpenKeyedStore(std::unique_ptr<KeyValue> tables,
                                                   StoreAccess access) {
  auto store = std::make_unique<KeyedStore>(std::move(tables), access);
  const Status opened = store->Open();
  if (!opened) return opened.error();
  return std::unique_ptr<StateStore>(std::move(store));
}

}  // namespace everstep
