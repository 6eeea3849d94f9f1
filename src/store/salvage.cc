#include "store/salvage.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <unordered_map>

#include "base/assert.h"
#include "base/clock.h"
#include "base/unique_fd.h"
#include "event/event_record.h"
#include "event/idempotency_key.h"
#include "machine/run_fold.h"
#include "store/keyed_reader.h"
#include "store/rocksdb_key_value.h"
#include "store/row_keys.h"
#include "store/row_values.h"
#include "store/row_writer.h"
#include "store/salvage_rows.h"

namespace everstep {
namespace {

namespace fs = std::filesystem;

using AfterGap = std::function<void(const StoredRun& run, const Event& event)>;

// Builds the rows of a new store from the rows that could be read of a damaged one.
class Rebuilding {
 public:
  Rebuilding(KeyedReader& from, KeyValue& to, SalvageReport& report, const AfterGap& after_gap)
      : from_(from), to_(to), report_(report), after_gap_(after_gap) {}

  Status Run();

 private:
  // What was found of the events of a run.
  struct Found {
    EventSeq kept;  // the last one before the first gap
    SalvagedRun salvaged;
  };
  struct Covered {
    EventSeq to;          // the outbox covers events up to here, each once and in order
    bool broken = false;  // it covers others too, or some are missing
  };

  Status LoadIds();
  Status LoadOutbox();
  Status NoteLastRun();
  Status RebuildRuns();
  Status RebuildRun(const StoredRun& run);
  Result<Found> FindEvents(const StoredRun& run);
  Status PutEvents(const StoredRun& run, RunNo number, EventSeq until, RunFold& fold);
  Status PutRun(const StoredRun& run, RunNo number, const RunFold& fold);
  Status PutOutbox(RunNo number, const RunState& state);
  Status NoteStrays();
  Status CopyMeta();
  Status CopyIndex();
  Status PutSinkMarks();
  Status Finish();

  template <typename Visit>
  Status Walk(Table table, const std::string& prefix, const Visit& visit);
  Status Put(Table table, std::string_view key, std::string_view value) {
    return to_.Put(table, key, value);
  }

  KeyedReader& from_;
  RowWriter to_;
  SalvageReport& report_;
  const AfterGap& after_gap_;
  RowKeys keys_;
  std::string value_;
  StoreHeads heads_;
  std::unordered_map<RunNo, std::string> ids_;
  std::unordered_map<RunNo, Covered> outbox_;
  std::unordered_map<std::string, RunNo> runs_;
  std::map<std::string, StoreCounts> counts_;
  std::map<SinkKey, std::uint64_t> dead_letters_;
};

template <typename Visit>
Status Rebuilding::Walk(Table table, const std::string& prefix, const Visit& visit) {
  auto row = from_.view().Seek(table, prefix);
  for (; row->Valid() && row->key().starts_with(prefix); row->Next()) {
    const Status visited = visit(row->key(), row->value());
    if (!visited) return visited;
  }
  return row->status();
}

Status Rebuilding::Run() {
  auto heads = from_.Heads();
  if (heads) heads_ = *heads;
  for (const auto step : {&Rebuilding::LoadIds, &Rebuilding::LoadOutbox, &Rebuilding::NoteLastRun,
                          &Rebuilding::RebuildRuns, &Rebuilding::NoteStrays, &Rebuilding::CopyIndex,
                          &Rebuilding::CopyMeta, &Rebuilding::PutSinkMarks, &Rebuilding::Finish}) {
    const Status done = (this->*step)();
    if (!done) return done;
  }
  return Ok();
}

Status Rebuilding::LoadIds() {
  const std::string prefix(keys_.Kind(RowKind::kRunById));
  return Walk(Table::kRuns, prefix, [&](std::string_view key, std::string_view value) -> Status {
    const auto number = DecodeNumber(value);
    if (!number) return Ok();
    ids_[RunNo(*number)] = key.substr(1);
    heads_.last_run = std::max(heads_.last_run, RunNo(*number));
    return Ok();
  });
}

Status Rebuilding::LoadOutbox() {
  const std::string prefix(keys_.Kind(RowKind::kOutbox));
  return Walk(Table::kIndex, prefix, [&](std::string_view key, std::string_view value) -> Status {
    const auto last = ParseOutboxKey(key);
    const auto row = last ? DecodeOutbox(*last, value) : std::nullopt;
    if (!row) return Ok();
    for (const OutboxChange& change : row->changes) {
      heads_.last_run = std::max(heads_.last_run, change.run);
      Covered& covered = outbox_[change.run];
      covered.broken |= change.first_seq != Next(covered.to);
      covered.to = std::max(covered.to, change.last_seq);
    }
    return Put(Table::kIndex, key, value);
  });
}

// No run may get the number of a lost one.
Status Rebuilding::NoteLastRun() {
  for (const Table table : {Table::kEvents, Table::kEntities, Table::kKeys}) {
    const auto last = from_.view().SeekForPrev(table, std::string(16, '\xff'));
    if (!last->status()) return last->status();
    const auto run = last->Valid() ? ParseRunPrefix(last->key()) : std::nullopt;
    if (run) heads_.last_run = std::max(heads_.last_run, *run);
  }
  return Ok();
}

Status Rebuilding::RebuildRuns() {
  RunNo next(1);
  while (next != RunNo()) {
    const auto runs = from_.RunsFrom(next, 256, next);
    if (!runs) return runs.error();
    for (const StoredRun& run : *runs) {
      heads_.last_run = std::max(heads_.last_run, run.run_no);
      const Status rebuilt = RebuildRun(run);
      if (!rebuilt) return rebuilt;
    }
  }
  return Ok();
}

Status Rebuilding::RebuildRun(const StoredRun& run) {
  if (run.state.status == RunStatus::kAbsent) return Ok();  // reported by NoteStrays
  auto found = FindEvents(run);
  if (!found) return found.error();
  const bool whole = found->salvaged.missing.empty();
  if (!whole) report_.incomplete.push_back(found->salvaged);
  if (found->kept == EventSeq()) return Ok();
  // If the outbox covers other events than those that were kept, the run gets a new number, so that
  // its old outbox rows belong to no run, and a new outbox row: sinks receive its events again.
  const Covered covered = outbox_[run.run_no];
  const bool in_outbox = !covered.broken && covered.to == found->kept;
  const RunNo number = in_outbox ? run.run_no : RunNo(heads_.last_run.value() + 1);
  heads_.last_run = std::max(heads_.last_run, number);
  RunFold fold(run.state.scope, run.state.key_version);
  Status put = PutEvents(run, number, found->kept, fold);
  EVERSTEP_ASSERT(!put || fold.run().last_seq == found->kept);
  if (put) put = PutRun(run, number, fold);
  if (put && !in_outbox) put = PutOutbox(number, fold.run());
  if (!put) return put;
  std::string reason = run.quarantine;
  if (!whole) reason = "events were lost; the log is kept up to its first gap";
  runs_[run.run_id.value()] = number;
  ++report_.runs;
  report_.events += found->kept.value();
  return reason.empty() ? Ok() : Put(Table::kMeta, keys_.Quarantine(number), reason);
}

Result<Rebuilding::Found> Rebuilding::FindEvents(const StoredRun& run) {
  Found found;
  found.salvaged = {run.run_id.value(), run.state.scope.tenant_id, 0, {}, false};
  EventSeq expected(1);
  const auto miss = [&](EventSeq until) {
    EVERSTEP_ASSERT(expected <= until);
    auto& missing = found.salvaged.missing;
    if (!missing.empty() && missing.back().second + 1 == expected.value()) {
      missing.back().second = until.value();
    } else {
      missing.emplace_back(expected.value(), until.value());
    }
  };
  const std::string prefix(keys_.Run(run.run_no));
  const Status walked =
      Walk(Table::kEvents, prefix, [&](std::string_view key, std::string_view value) -> Status {
        const auto place = ParseEventKey(key);
        if (!place || place->seq < expected) return Ok();
        const auto event = DecodeEventRecord(value);
        const bool intact = event && event->seq == place->seq;
        if (place->seq != expected) miss(EventSeq(place->seq.value() - 1));
        expected = place->seq;
        if (!intact) miss(expected);
        expected = Next(place->seq);
        if (!intact) return Ok();
        if (found.salvaged.missing.empty()) {
          found.kept = place->seq;
        } else {
          ++report_.events_after_gaps;
          after_gap_(run, *event);
        }
        return Ok();
      });
  if (!walked) return walked.error();
  const EventSeq last = std::max(run.state.last_seq, outbox_[run.run_no].to);
  if (expected <= last) miss(last);
  found.salvaged.events_kept = found.kept.value();
  return found;
}

Status Rebuilding::PutEvents(const StoredRun& run, RunNo number, EventSeq until, RunFold& fold) {
  const std::string prefix(keys_.Run(run.run_no));
  return Walk(Table::kEvents, prefix, [&](std::string_view key, std::string_view value) -> Status {
    const auto place = ParseEventKey(key);
    if (!place || place->seq > until) return Ok();
    const auto event = DecodeEventRecord(value);
    if (!event) return event.error();
    fold.Apply(*event);
    counts_[run.state.scope.tenant_id].row_bytes += value.size();
    const Status put = Put(Table::kEvents, keys_.Event(number, event->seq), value);
    if (!put || event->instance_id.empty()) return put;
    value_.clear();
    EncodeNumber(event->seq.value(), value_);
    const Sha256Digest digest =
        IdempotencyKey(run.state.key_version, run.run_id, run.state.scope, *event);
    return Put(Table::kKeys, keys_.Key(number, digest), value_);
  });
}

Status Rebuilding::PutRun(const StoredRun& run, RunNo number, const RunFold& fold) {
  const RunState& state = fold.run();
  StoreCounts& counts = counts_[state.scope.tenant_id];
  ++counts.runs_by_status[static_cast<std::size_t>(state.status)];
  counts.events += state.last_seq.value();
  value_.clear();
  EncodeRunRow(run.run_id, state, value_);
  Status put = Put(Table::kRuns, keys_.RunByNo(number), value_);
  value_.clear();
  EncodeNumber(number.value(), value_);
  if (put) put = Put(Table::kRuns, keys_.RunById(run.run_id), value_);
  for (const RowKind index : kListIndexes) {
    if (put) put = Put(Table::kIndex, keys_.Listed(index, state, number), {});
  }
  for (const auto& [key, entity] : fold.entities()) {
    if (!put) return put;
    if (entity.status == EntityStatus::kAbsent) continue;
    value_.clear();
    EncodeEntityState(entity, value_);
    put = Put(Table::kEntities, keys_.Entity(number, key), value_);
    if (put && key.kind == EntityKind::kHook && entity.status == EntityStatus::kActive &&
        !entity.token.empty()) {
      value_.clear();
      EncodeHolder({run.run_id, key.id}, value_);
      put = Put(Table::kIndex, keys_.Token(state.scope.tenant_id, entity.token), value_);
    }
    if (put && key.kind == EntityKind::kWait && entity.status == EntityStatus::kWaiting &&
        entity.due_at != Timestamp{}) {
      put = Put(Table::kIndex, keys_.Timer(entity.due_at, number, key.id), {});
    }
  }
  return put;
}

Status Rebuilding::PutOutbox(RunNo number, const RunState& state) {
  const Position position(heads_.last_position.value() + 1);
  const Timestamp committed_at = heads_.Place(position, state.updated_at);
  value_.clear();
  EncodeOutboxChange({number, EventSeq(1), state.last_seq, committed_at}, value_);
  return Put(Table::kIndex, keys_.Outbox(heads_.last_position), value_);
}

// Reports events whose run row is lost.
Status Rebuilding::NoteStrays() {
  auto row = from_.view().Seek(Table::kEvents, {});
  while (row->Valid()) {
    const auto run = ParseRunPrefix(row->key());
    if (!run) {
      row->Next();
      continue;
    }
    const auto stored = from_.RunByNo(*run);
    if (!stored || !*stored || (*stored)->state.status == RunStatus::kAbsent) {
      const auto last = from_.LastEventRow(*run);
      if (!last) return last.error();
      const auto id = ids_.find(*run);
      SalvagedRun lost;
      lost.row_lost = true;
      lost.run_id = id != ids_.end() ? id->second : "run no " + std::to_string(run->value());
      lost.missing.emplace_back(1, last->value());
      report_.incomplete.push_back(std::move(lost));
    }
    row = from_.view().Seek(Table::kEvents, keys_.Run(RunNo(run->value() + 1)));
  }
  return row->status();
}

// Copies the index rows that do not follow from events: tokens that ended runs hold, and dead
// letters.
Status Rebuilding::CopyIndex() {
  const std::string tokens(keys_.Kind(RowKind::kToken));
  Status copied =
      Walk(Table::kIndex, tokens, [&](std::string_view key, std::string_view value) -> Status {
        const auto holder = DecodeHolder(value);
        const bool keeps =
            holder && holder->kept_until != Timestamp{} && runs_.contains(holder->run_id.value());
        return keeps ? Put(Table::kIndex, key, value) : Ok();
      });
  if (!copied) return copied;
  const std::string letters(keys_.Kind(RowKind::kDeadLetter));
  return Walk(Table::kIndex, letters, [&](std::string_view key, std::string_view value) -> Status {
    const auto letter = ParseDeadLetterKey(key);
    if (!letter || !DecodeDeadLetter(value)) return Ok();
    ++dead_letters_[{std::string(letter->tenant_id), std::string(letter->sink)}];
    return Put(Table::kIndex, key, value);
  });
}

Status Rebuilding::CopyMeta() {
  return Walk(Table::kMeta, {}, [&](std::string_view key, std::string_view value) -> Status {
    switch (static_cast<RowKind>(key.empty() ? '\0' : key.front())) {
      case RowKind::kPlan:
        return keys_.Plan(Sha256(value)) == key ? Put(Table::kMeta, key, value) : Ok();
      case RowKind::kDocument: {
        const auto tenant_id = ParseDocumentTenant(key);
        if (tenant_id && !tenant_id->empty()) counts_[*tenant_id].row_bytes += value.size();
        return Put(Table::kMeta, key, value);
      }
      case RowKind::kTombstone: {
        const auto tombstone = DecodeTombstone(value);
        const std::string run_id(key.substr(1));
        if (!tombstone || runs_.contains(run_id)) return Ok();
        const auto found = from_.FindTombstone(RunId(run_id));
        const std::string tenant_id = found && *found ? (*found)->tenant_id : std::string();
        const Status put = Put(Table::kMeta, key, value);
        if (!put) return put;
        return Put(Table::kIndex, keys_.TombstoneAge(tombstone->removed_at, run_id), tenant_id);
      }
      case RowKind::kSinkMark: {
        const auto sink = ParseSinkMarkKey(key);
        if (sink) dead_letters_.try_emplace(*sink, 0);
        return Ok();
      }
      default:
        return Ok();  // derived
    }
  });
}

Status Rebuilding::PutSinkMarks() {
  for (const auto& [sink, letters] : dead_letters_) {
    auto mark = from_.FindSink(sink);
    SinkMark put = mark && *mark ? **mark : SinkMark();
    put.key = sink;
    put.dead_letters = letters;
    value_.clear();
    EncodeSinkMark(put, value_);
    const Status written = Put(Table::kMeta, keys_.SinkMark(sink), value_);
    if (!written) return written;
  }
  return Ok();
}

Status Rebuilding::Finish() {
  for (auto& [tenant_id, counts] : counts_) {
    counts.file_bytes = from_.Counts(tenant_id).file_bytes;  // of documents, which are all kept
    value_.clear();
    EncodeCounts(counts, value_);
    const Status put = Put(Table::kMeta, keys_.Counts(tenant_id), value_);
    if (!put) return put;
  }
  value_.clear();
  EncodeHeads(heads_, value_);
  Status put = Put(Table::kMeta, keys_.Heads(), value_);
  value_.clear();
  EncodeNumber(kStoreFormat, value_);
  if (put) put = Put(Table::kMeta, keys_.Format(), value_);
  return put ? to_.Flush() : put;
}

// A temporary directory beside the new store, removed with the object.
class Workplace {
 public:
  static Result<std::unique_ptr<Workplace>> Make(const fs::path& beside) {
    std::error_code failed;
    fs::create_directories(beside.parent_path(), failed);
    std::string path = beside.string() + ".salvage-XXXXXX";
    if (failed || ::mkdtemp(path.data()) == nullptr) {
      const std::string reason = failed ? failed.message() : std::strerror(errno);
      return Error{ErrorCode::kStoreIo, path + ": cannot be created: " + reason, {}};
    }
    return std::unique_ptr<Workplace>(new Workplace(std::move(path)));
  }
  ~Workplace() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  std::string operator/(std::string_view name) const { return (path_ / name).string(); }

 private:
  explicit Workplace(fs::path path) : path_(std::move(path)) {}
  const fs::path path_;
};

// The path without dots, links or a slash at its end, so that equal places have equal paths.
fs::path Resolved(const std::string& path) {
  std::error_code failed;
  fs::path plain = fs::absolute(path, failed).lexically_normal();
  if (!plain.has_filename()) plain = plain.parent_path();
  const fs::path resolved = fs::weakly_canonical(plain, failed);
  return failed ? plain : resolved;
}

bool IsInside(const fs::path& path, const fs::path& directory) {
  return std::ranges::mismatch(path, directory).in2 == directory.end();
}

// Durably renames the finished store to `to`. Never replaces what exists there.
Status PutInPlace(const std::string& made, const fs::path& to) {
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) != 0) {
    return Error{errno == EEXIST ? ErrorCode::kStoreExists : ErrorCode::kStoreIo,
                 to.string() + ": " + std::strerror(errno),
                 {}};
  }
  const std::string parent = to.parent_path();
  const UniqueFd directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory && ::fsync(directory.get()) == 0) return Ok();
  return Error{ErrorCode::kStoreIo, parent + ": " + std::strerror(errno), {}};
}

}  // namespace

Result<SalvageReport> SalvageStore(const std::string& from, const std::string& to,
                                   const AfterGap& after_gap) {
  std::error_code failed;
  const fs::path target = Resolved(to);
  if (fs::exists(fs::symlink_status(target, failed))) {
    return Error{ErrorCode::kStoreExists, to + " exists; salvage into a new directory", {}};
  }
  const fs::file_status source = fs::status(from, failed);
  if (source.type() == fs::file_type::none) {
    return Error{ErrorCode::kStoreIo, from + ": " + failed.message(), {}};
  }
  if (!fs::is_directory(source)) {
    return Error{ErrorCode::kStoreNotFound, from + ": there is no store", {}};
  }
  if (IsInside(target, Resolved(from))) {
    return Error{ErrorCode::kInvalidArgument,
                 to + " lies in the damaged store; salvage into a directory elsewhere",
                 {}};
  }
  const auto workplace = Workplace::Make(target);
  if (!workplace) return workplace.error();
  const std::string made = **workplace / "new";
  SalvageReport report;
  {
    auto rows = OpenRocksdbKeyValue(**workplace / "gathered", {}, SystemClock());
    if (!rows) return std::move(rows).error();
    auto gathered = GatherRows(from, **workplace / "scratch", **rows);
    if (!gathered) return std::move(gathered).error();
    report.damage = std::move(gathered->damage);
    report.rows_lost = gathered->rows_lost;
    auto store = OpenRocksdbKeyValue(made, {}, SystemClock());
    if (!store) return std::move(store).error();
    KeyedReader reader((*rows)->View());
    const Status rebuilt = Rebuilding(reader, **store, report, after_gap).Run();
    if (!rebuilt) return rebuilt.error();
  }
  const Status placed = PutInPlace(made, target);
  if (!placed) return placed.error();
  return report;
}

}  // namespace everstep
