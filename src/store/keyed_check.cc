#include "store/keyed_check.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "store/corrupt_row.h"
#include "store/run_check.h"

namespace everstep {
namespace {

constexpr std::size_t kRunsPerPage = 256;

class StoreCheck {
 public:
  StoreCheck(KeyedReader& reader, const std::function<void(StoreFault)>& report)
      : reader_(reader), report_(report) {}

  Status Run() {
    for (const auto step :
         {&StoreCheck::CheckRuns, &StoreCheck::CheckIds, &StoreCheck::CheckIndex,
          &StoreCheck::CheckOutboxEnds, &StoreCheck::CheckMeta, &StoreCheck::CheckStrays}) {
      const Status checked = (this->*step)();
      if (!checked) return checked;
    }
    return Ok();
  }

 private:
  struct KnownRun {
    bool readable = false;
    EventSeq last_event;
    EventSeq in_outbox;  // how far the outbox covers it
  };

  Status CheckRuns();
  Status CheckIds();
  Status CheckIndex();
  Status CheckIndexRow(const Cursor& row);
  Status CheckListed(std::string_view key);
  Status CheckToken(std::string_view key, std::string_view value);
  Status CheckTimer(std::string_view key);
  Status CheckTombstoneAge(std::string_view key);
  Status CheckDocument(std::string_view key);
  Status CheckOutboxRow(std::string_view key, std::string_view value);
  void CheckOutboxChange(Position position, const OutboxChange& change);
  Status CheckOutboxEnds();
  Status CheckMeta();
  Status CountEventBytes(RunNo run, StoreCounts& counts);
  Status CountDocumentBytes();
  Status CheckMetaRow(std::string_view key, std::string_view value);
  void CheckCounts(std::string_view tenant_id, std::string_view value);
  void CheckDeadLetter(std::string_view key, std::string_view value);
  void CheckSinkMark(std::string_view key, std::string_view value);
  Status CheckStrays();

  void Report(std::string what) { report_({{}, std::move(what)}); }
  Status Survive(const Error& error) {
    if (error.code != ErrorCode::kStoreCorrupt) return error;
    Report(error.message);
    return Ok();
  }
  std::string IdOf(RunNo run) {
    const auto found = reader_.RunByNo(run);
    return found && *found ? (*found)->run_id.value() : std::string();
  }

  KeyedReader& reader_;
  const std::function<void(StoreFault)>& report_;
  RowKeys keys_;
  std::unordered_map<RunNo, KnownRun> runs_;
  bool all_readable_ = true;
  std::map<std::string, StoreCounts, std::less<>> counted_;
  std::map<SinkKey, std::uint64_t> dead_letters_;  // of sinks whose mark is not yet checked
  Position outbox_end_;
  Timestamp last_committed_at_{};
};

Status StoreCheck::CheckRuns() {
  RunNo next(1);
  while (next != RunNo()) {
    const auto page = reader_.RunsFrom(next, kRunsPerPage, next);
    if (!page) return page.error();
    for (const StoredRun& run : *page) {
      const auto last_event = reader_.LastEventRow(run.run_no);
      if (!last_event) {
        const Status survived = Survive(last_event.error());
        if (!survived) return survived;
      }
      const bool readable = run.state.status != RunStatus::kAbsent;
      runs_[run.run_no] = {readable, last_event ? *last_event : EventSeq(), EventSeq()};
      if (!readable) {
        all_readable_ = false;
        report_({run.run_id.value(), "the run's row cannot be read: " + run.quarantine});
        continue;
      }
      StoreCounts& counts = counted_[run.state.scope.tenant_id];
      ++counts.runs_by_status[static_cast<std::size_t>(run.state.status)];
      counts.events += run.state.last_seq.value();
      const Status measured = CountEventBytes(run.run_no, counts);
      if (!measured) return measured;
      const Status checked = RunCheck(reader_, run, report_).Run();
      if (!checked) return checked;
    }
  }
  return Ok();
}

Status StoreCheck::CountEventBytes(RunNo run, StoreCounts& counts) {
  const std::string prefix(keys_.Run(run));
  auto row = reader_.view().Seek(Table::kEvents, prefix);
  for (; row->Valid() && row->key().starts_with(prefix); row->Next()) {
    counts.row_bytes += row->value().size();
  }
  return row->status() ? Ok() : Survive(row->status().error());
}

Status StoreCheck::CountDocumentBytes() {
  const std::string prefix(keys_.Kind(RowKind::kDocument));
  auto row = reader_.view().Seek(Table::kMeta, prefix);
  for (; row->Valid() && row->key().starts_with(prefix); row->Next()) {
    const auto tenant_id = ParseDocumentTenant(row->key());
    if (tenant_id && !tenant_id->empty()) counted_[*tenant_id].row_bytes += row->value().size();
  }
  return row->status() ? Ok() : Survive(row->status().error());
}

Status StoreCheck::CheckIds() {
  auto row = reader_.view().Seek(Table::kRuns, {});
  for (; row->Valid(); row->Next()) {
    const std::string_view key = row->key();
    if (ParseRunByNo(key)) continue;
    if (key.front() != static_cast<char>(RowKind::kRunById)) {
      Report("table runs: a row of an unknown kind");
      continue;
    }
    const std::string run_id(key.substr(1));
    const auto number = DecodeNumber(row->value());
    const auto found = number ? runs_.find(RunNo(*number)) : runs_.end();
    if (found == runs_.end()) {
      report_({run_id, "the id maps to a run number that does not exist"});
    } else if (found->second.readable && IdOf(found->first) != run_id) {
      report_({run_id, "the id maps to the number of another run"});
    }
  }
  return row->status() ? Ok() : Survive(row->status().error());
}

Status StoreCheck::CheckIndex() {
  auto row = reader_.view().Seek(Table::kIndex, {});
  for (; row->Valid(); row->Next()) {
    const Status checked = CheckIndexRow(*row);
    if (!checked) return checked;
  }
  return row->status() ? Ok() : Survive(row->status().error());
}

Status StoreCheck::CheckIndexRow(const Cursor& row) {
  switch (static_cast<RowKind>(row.key().front())) {
    case RowKind::kOutbox:
      return CheckOutboxRow(row.key(), row.value());
    case RowKind::kByTenant:
    case RowKind::kByProject:
    case RowKind::kByStatus:
    case RowKind::kByPlan:
      return CheckListed(row.key());
    case RowKind::kToken:
      return CheckToken(row.key(), row.value());
    case RowKind::kTimer:
      return CheckTimer(row.key());
    case RowKind::kTombstoneAge:
      return CheckTombstoneAge(row.key());
    case RowKind::kDeadLetter:
      CheckDeadLetter(row.key(), row.value());
      return Ok();
    default:
      Report("table index: a row of an unknown kind");
      return Ok();
  }
}

Status StoreCheck::CheckListed(std::string_view key) {
  const std::string index(1, key.front());
  const auto listed = ParseListedKey(key);
  if (!listed) {
    Report("list index " + index + ": a key cannot be read");
    return Ok();
  }
  const auto known = runs_.find(listed->run);
  if (known == runs_.end()) {
    Report("list index " + index + ": run no " + std::to_string(listed->run.value()) +
           " does not exist");
    return Ok();
  }
  if (!known->second.readable) return Ok();
  const auto run = reader_.RunByNo(listed->run);
  if (!run) return Survive(run.error());
  if (keys_.Listed(static_cast<RowKind>(key.front()), (*run)->state, listed->run) != key) {
    report_({(*run)->run_id.value(), "list index " + index + " lists it in the wrong place"});
  }
  return Ok();
}

Status StoreCheck::CheckToken(std::string_view key, std::string_view value) {
  const auto holder = DecodeHolder(value);
  if (!holder) {
    Report("a hook token's row cannot be read");
    return Ok();
  }
  const auto run = reader_.FindRun(holder->run_id);
  if (!run) return Survive(run.error());
  if (*run && (*run)->state.status == RunStatus::kAbsent) return Ok();  // already reported
  std::optional<EntityState> hook;
  if (*run) {
    auto found = reader_.FindEntity((*run)->run_no, {EntityKind::kHook, holder->hook_id});
    if (!found) return Survive(found.error());
    hook = std::move(*found);
  }
  const bool kept = holder->kept_until != Timestamp{};
  if (!hook || hook->status != (kept ? EntityStatus::kDisposed : EntityStatus::kActive) ||
      keys_.Token((*run)->state.scope.tenant_id, hook->token) != key) {
    report_({holder->run_id.value(), "a token refers to hook " + holder->hook_id +
                                         ", which is not active with this token"});
  }
  return Ok();
}

Status StoreCheck::CheckTimer(std::string_view key) {
  const auto timer = ParseTimerKey(key);
  if (!timer) {
    Report("a timer's key cannot be read");
    return Ok();
  }
  const std::string wait_id(timer->wait_id);
  if (!runs_.contains(timer->run)) {
    Report("the timer of wait " + wait_id + " belongs to a run that does not exist");
    return Ok();
  }
  const auto wait = reader_.FindEntity(timer->run, {EntityKind::kWait, wait_id});
  if (!wait) return Survive(wait.error());
  if (!*wait || (*wait)->status != EntityStatus::kWaiting || (*wait)->due_at != timer->due_at) {
    report_({IdOf(timer->run),
             "there is a timer for wait " + wait_id + ", which is not waiting for it"});
  }
  return Ok();
}

Status StoreCheck::CheckTombstoneAge(std::string_view key) {
  const auto age = ParseTombstoneAgeKey(key);
  if (!age) {
    Report("a tombstone's age cannot be read");
    return Ok();
  }
  const std::string run_id(age->run_id);
  const auto tombstone = reader_.FindTombstone(RunId(run_id));
  if (!tombstone) return Survive(tombstone.error());
  if (!*tombstone || (*tombstone)->removed_at != age->removed_at) {
    report_({run_id, "there is an age row for a tombstone that does not exist"});
  }
  return Ok();
}

Status StoreCheck::CheckOutboxRow(std::string_view key, std::string_view value) {
  const auto last = ParseOutboxKey(key);
  const auto row = last ? DecodeOutbox(*last, value) : std::nullopt;
  if (!row) {
    Report("an outbox row cannot be read");
    return Ok();
  }
  const auto heads = reader_.Heads();
  if (!heads) return heads.error();
  const std::string where = "outbox position " + std::to_string(row->first.value());
  if (row->first <= outbox_end_) Report(where + " is in two rows");
  if (row->first < heads->outbox_front) Report(where + " lies before the outbox's front");
  outbox_end_ = *last;
  for (std::size_t i = 0; i < row->changes.size(); ++i) {
    CheckOutboxChange(Position(row->first.value() + i), row->changes[i]);
  }
  return Ok();
}

void StoreCheck::CheckOutboxChange(Position position, const OutboxChange& change) {
  const std::string where = "outbox position " + std::to_string(position.value());
  if (change.committed_at < last_committed_at_) {
    Report(where + " was committed before its predecessor");
  }
  last_committed_at_ = change.committed_at;
  const auto run = runs_.find(change.run);
  if (run == runs_.end()) return;  // removed; the row is trimmed at the front
  if (change.first_seq != Next(run->second.in_outbox)) {
    report_({IdOf(change.run), where + " does not continue the events of its run"});
  }
  run->second.in_outbox = std::max(run->second.in_outbox, change.last_seq);
}

Status StoreCheck::CheckOutboxEnds() {
  for (const auto& [number, run] : runs_) {
    if (run.in_outbox == run.last_event) continue;
    report_({IdOf(number), "the outbox covers " + std::to_string(run.in_outbox.value()) + " of " +
                               std::to_string(run.last_event.value()) + " events"});
  }
  return Ok();
}

Status StoreCheck::CheckMeta() {
  const Status documents = CountDocumentBytes();
  if (!documents) return documents;
  auto row = reader_.view().Seek(Table::kMeta, {});
  for (; row->Valid(); row->Next()) {
    const Status checked = CheckMetaRow(row->key(), row->value());
    if (!checked) return checked;
  }
  if (!row->status()) return Survive(row->status().error());
  for (const auto& [sink, letters] : dead_letters_) {
    Report("there are dead letters of sink " + sink.name + ", which does not exist");
  }
  if (!all_readable_) return Ok();
  for (const auto& [tenant_id, counts] : counted_) {
    // An earlier version kept no counts for tenants with documents only.
    if (counts.events > 0) Report("tenant " + tenant_id + " has no counts");
  }
  return Ok();
}

Status StoreCheck::CheckMetaRow(std::string_view key, std::string_view value) {
  const std::string_view rest = key.substr(1);
  switch (static_cast<RowKind>(key.front())) {
    case RowKind::kFormat:
      return Ok();
    case RowKind::kHeads:
      if (!DecodeHeads(value)) Report("the heads row cannot be read");
      return Ok();
    case RowKind::kCounts:
      CheckCounts(rest, value);
      return Ok();
    case RowKind::kPlan: {
      const Sha256Digest sha256 = Sha256(value);
      if (keys_.Plan(sha256) != key) Report("a plan does not match its SHA-256");
      return Ok();
    }
    case RowKind::kDocument:
      return CheckDocument(key);
    case RowKind::kSinkMark:
      CheckSinkMark(key, value);
      return Ok();
    case RowKind::kQuarantine: {
      const auto run = ParseRunPrefix(rest);
      if (!run || !runs_.contains(*run)) Report("a quarantined run does not exist");
      return Ok();
    }
    case RowKind::kTombstone: {
      const auto tombstone = DecodeTombstone(value);
      const std::string run_id(rest);
      if (!tombstone) {
        report_({run_id, "the tombstone cannot be read"});
        return Ok();
      }
      const auto age =
          reader_.view().Get(Table::kIndex, keys_.TombstoneAge(tombstone->removed_at, run_id));
      if (!age) return Survive(age.error());
      if (!*age) report_({run_id, "the tombstone would never expire: its age row is missing"});
      return Ok();
    }
    default:
      Report("table meta: a row of an unknown kind");
      return Ok();
  }
}

// Sinks are opened by their marks.
Status StoreCheck::CheckDocument(std::string_view key) {
  const auto tenant_id = ParseDocumentTenant(key);
  if (!tenant_id) {
    Report("a document's key cannot be read");
    return Ok();
  }
  const std::string_view sinks = keys_.Document({DocumentKind::kSink, *tenant_id, {}});
  if (!key.starts_with(sinks)) return Ok();
  const SinkKey sink{*tenant_id, std::string(key.substr(sinks.size()))};
  const auto mark = reader_.FindSink(sink);
  if (!mark) return Survive(mark.error());
  if (!*mark) {
    Report("sink " + sink.name + " of tenant " + sink.tenant_id +
           " has a definition but no mark, so it is not opened; put it again");
  }
  return Ok();
}

void StoreCheck::CheckCounts(std::string_view tenant_id, std::string_view value) {
  const auto stored = DecodeCounts(value);
  const auto found = counted_.find(tenant_id);
  const StoreCounts counted = found == counted_.end() ? StoreCounts{} : found->second;
  if (found != counted_.end()) counted_.erase(found);
  if (!all_readable_) return;  // unreadable runs were not counted
  if (!stored || stored->events != counted.events ||
      !std::ranges::equal(stored->runs_by_status, counted.runs_by_status)) {
    Report("the counts of tenant " + std::string(tenant_id) + " do not match its runs");
  } else if (stored->counts_bytes && stored->row_bytes != counted.row_bytes) {
    Report("tenant " + std::string(tenant_id) + " has " + std::to_string(counted.row_bytes) +
           " bytes of events and documents, but " + std::to_string(stored->row_bytes) +
           " are counted");
  }
}

void StoreCheck::CheckDeadLetter(std::string_view key, std::string_view value) {
  const auto letter = ParseDeadLetterKey(key);
  if (!letter || !DecodeDeadLetter(value)) {
    Report("a dead letter cannot be read");
    return;
  }
  ++dead_letters_[{std::string(letter->tenant_id), std::string(letter->sink)}];
}

void StoreCheck::CheckSinkMark(std::string_view key, std::string_view value) {
  const auto sink = ParseSinkMarkKey(key);
  const auto mark = DecodeSinkMark(value);
  if (!sink || !mark) {
    Report("a sink's mark cannot be read");
    return;
  }
  const auto found = dead_letters_.extract(*sink);
  if (mark->dead_letters != (found.empty() ? 0 : found.mapped())) {
    Report("the count of dead letters of sink " + sink->name + " is wrong");
  }
}

// Rows of runs that have no run row.
Status StoreCheck::CheckStrays() {
  for (const Table table : {Table::kEvents, Table::kKeys, Table::kEntities}) {
    auto row = reader_.view().Seek(table, {});
    while (row->Valid()) {
      const auto run = ParseRunPrefix(row->key());
      if (!run) {
        Report("table " + std::string(Name(table)) + ": a key cannot be read");
        row->Next();
        continue;
      }
      if (!runs_.contains(*run)) {
        Report("table " + std::string(Name(table)) + ": rows of run no " +
               std::to_string(run->value()) + ", which does not exist");
      }
      row = reader_.view().Seek(table, keys_.Run(RunNo(run->value() + 1)));
    }
    const Status survived = row->status() ? Ok() : Survive(row->status().error());
    if (!survived) return survived;
  }
  return Ok();
}

}  // namespace

Status CheckRows(KeyedReader& reader, const std::function<void(StoreFault)>& report) {
  return StoreCheck(reader, report).Run();
}

}  // namespace everstep
