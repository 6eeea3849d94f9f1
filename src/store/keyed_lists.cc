// The functions of KeyedReader that walk the index table: lists of runs, tokens, timers, the
// outbox.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "store/corrupt_row.h"
#include "store/keyed_reader.h"

namespace everstep {
namespace {

// A page ends after scanning this many rows, even if few of them match its filters.
constexpr std::size_t kRowsPerPageMax = 10'000;

// The cursor is the place of the last run seen. Places are the same in every index, so a list may
// change its index from page to page. Hexadecimal, with a checksum that detects invalid cursors.
std::string MakeCursor(std::string_view place) {
  EVERSTEP_ASSERT(place.size() == kListPlaceBytes);
  std::string bytes(place);
  ByteWriter(bytes).U32(Crc32c(place));
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text.push_back(kDigits[static_cast<std::uint8_t>(c) >> 4]);
    text.push_back(kDigits[static_cast<std::uint8_t>(c) & 15]);
  }
  return text;
}

std::optional<std::string> PlaceOf(std::string_view cursor) {
  constexpr std::size_t kBytes = kListPlaceBytes + 4;
  if (cursor.size() != 2 * kBytes) return std::nullopt;
  std::string bytes(kBytes, '\0');
  for (std::size_t i = 0; i < cursor.size(); ++i) {
    const char c = cursor[i];
    const bool digit = c >= '0' && c <= '9';
    if (!digit && !(c >= 'a' && c <= 'f')) return std::nullopt;
    const int value = digit ? c - '0' : c - 'a' + 10;
    bytes[i / 2] = static_cast<char>(static_cast<std::uint8_t>(bytes[i / 2]) << 4 | value);
  }
  const std::string_view place = std::string_view(bytes).substr(0, kListPlaceBytes);
  if (ByteReader(std::string_view(bytes).substr(kListPlaceBytes)).U32() != Crc32c(place)) {
    return std::nullopt;
  }
  return std::string(place);
}

// Returns where in an index the page begins: after the cursor, and within the requested times. The
// page walks down the index or, with oldest_first, up.
Result<std::string> FirstPlace(const RunQuery& query) {
  std::string first;
  if (query.oldest_first) {
    first.assign(kListPlaceBytes + 1, '\xff');
    if (query.created_from != Timestamp{}) {
      first.clear();
      AppendListPlace(first, query.created_from, RunNo(0));
    }
  } else if (query.created_until != Timestamp{}) {
    AppendListPlace(first, query.created_until - std::chrono::microseconds(1), RunNo(UINT64_MAX));
  }
  if (query.cursor.empty()) return first;
  auto after = PlaceOf(query.cursor);
  if (!after) {
    return Error{ErrorCode::kInvalidArgument, "invalid cursor: pass one that a list returned", {}};
  }
  if (query.oldest_first) return std::min(first, *after);
  after->push_back('\0');  // the next possible key
  return std::max(first, *after);
}

// Whether the walk has left the requested times.
bool IsOver(const RunQuery& query, Timestamp created_at) {
  if (query.oldest_first) {
    return query.created_until != Timestamp{} && created_at >= query.created_until;
  }
  return query.created_from != Timestamp{} && created_at < query.created_from;
}

bool Matches(const RunQuery& query, const StoredRun& run) {
  const RunState& state = run.state;
  const auto asked = [](const std::string& want, const std::string& have) {
    return want.empty() || want == have;
  };
  return asked(query.project_id, state.scope.project_id) &&
         asked(query.environment_id, state.scope.environment_id) &&
         asked(query.plan_id, state.scope.plan_id) &&
         asked(query.plan_version, state.scope.plan_version) &&
         asked(query.error_code, state.error_code) &&
         run.run_id.value().starts_with(query.run_id_prefix) &&
         (query.updated_from == Timestamp{} || state.updated_at >= query.updated_from) &&
         (query.updated_until == Timestamp{} || state.updated_at < query.updated_until) &&
         (!query.status || *query.status == state.status);
}

}  // namespace

// Chooses the index by plan, environment or status that promises the fewest rows. The number of
// runs in a status is known; if it fits into one page, no other index can be better.
RowKind KeyedReader::ChooseIndex(const RunQuery& query) {
  if (query.status) {
    const StoreCounts counts = Counts(query.tenant_id);
    EVERSTEP_ASSERT(static_cast<std::size_t>(*query.status) < std::size(counts.runs_by_status));
    if (counts.runs_by_status[static_cast<std::size_t>(*query.status)] <= kRowsPerPageMax) {
      return RowKind::kByStatus;
    }
  }
  if (!query.plan_id.empty()) return RowKind::kByPlan;
  if (!query.project_id.empty() && !query.environment_id.empty()) return RowKind::kByProject;
  return query.status ? RowKind::kByStatus : RowKind::kByTenant;
}

Result<StoredRun> KeyedReader::ListedRun(RunNo run) {
  auto found = RunByNo(run);
  if (found && *found) return std::move(**found);
  if (found) return Unreadable(run, "table runs: the row that the index refers to is missing");
  if (found.error().code != ErrorCode::kStoreCorrupt) return std::move(found).error();
  return Unreadable(run, ToString(found.error()));
}

// The digits of cursors sort as the places, and those sort with the newest first.
bool IsListedBefore(const RunQuery& query, std::string_view cursor, std::string_view other) {
  return query.oldest_first ? other < cursor : cursor < other;
}

Result<RunPage> KeyedReader::ListRuns(const RunQuery& query) {
  if (query.tenant_id.empty() || query.limit == 0) {
    return Error{
        ErrorCode::kInvalidArgument, "a list of runs requires a tenant and a limit above 0", {}};
  }
  auto first = FirstPlace(query);
  if (!first) return std::move(first).error();
  const RowKind index = ChooseIndex(query);
  const RunScope scope{.tenant_id = query.tenant_id,
                       .project_id = query.project_id,
                       .environment_id = query.environment_id,
                       .plan_id = query.plan_id,
                       .plan_version = {}};
  const std::string prefix(
      keys_.ListedPrefix(index, scope, query.status.value_or(RunStatus::kAbsent)));
  RunPage page;
  std::string place;
  const std::string at_first = prefix + *first;
  auto row = query.oldest_first ? view_->SeekForPrev(Table::kIndex, at_first)
                                : view_->Seek(Table::kIndex, at_first);
  // The page begins after the run of the cursor.
  const bool seen =
      query.oldest_first && !query.cursor.empty() && row->Valid() && row->key() == at_first;
  if (seen) row->Prev();
  for (; row->Valid() && row->key().starts_with(prefix);
       query.oldest_first ? row->Prev() : row->Next(), ++page.rows) {
    if (row->key().size() != prefix.size() + kListPlaceBytes) {
      return CorruptRow({.table = Table::kIndex}, "a row of the list of runs cannot be read");
    }
    const ListPlace at = ParseListPlace(row->key().substr(prefix.size()));
    if (IsOver(query, at.created_at)) break;
    if (page.runs.size() == query.limit || page.rows == kRowsPerPageMax) {
      page.cursor = MakeCursor(place);
      break;
    }
    place = row->key().substr(prefix.size());
    auto run = ListedRun(at.run);
    if (!run) return std::move(run).error();
    const bool readable = run->state.status != RunStatus::kAbsent;
    if (readable && !Matches(query, *run)) continue;
    page.runs.push_back(std::move(*run));
    page.cursors.push_back(MakeCursor(place));
  }
  if (!row->status()) return At({.table = Table::kIndex}, row->status().error());
  EVERSTEP_ASSERT(page.runs.size() <= query.limit && page.rows <= kRowsPerPageMax);
  EVERSTEP_ASSERT(page.cursors.size() == page.runs.size());
  return page;
}

StoreCounts KeyedReader::Counts(std::string_view tenant_id) {
  const auto row = view_->Get(Table::kMeta, keys_.Counts(tenant_id));
  if (!row || !*row) return {};
  return DecodeCounts(**row).value_or(StoreCounts{});
}

Result<std::vector<std::string>> KeyedReader::Tenants() {
  std::vector<std::string> tenants;
  const std::string prefix(keys_.Kind(RowKind::kCounts));
  auto row = view_->Seek(Table::kMeta, prefix);
  for (; row->Valid() && row->key().starts_with(prefix); row->Next()) {
    tenants.emplace_back(row->key().substr(prefix.size()));
  }
  if (!row->status()) return At({.table = Table::kMeta}, row->status().error());
  return tenants;
}

Result<std::optional<std::string>> KeyedReader::FindPlan(const Sha256Digest& sha256) {
  auto row = view_->Get(Table::kMeta, keys_.Plan(sha256));
  if (!row) return At({.table = Table::kMeta}, std::move(row).error());
  if (*row && Sha256(**row) != sha256) {
    return CorruptRow({.table = Table::kMeta}, "a plan does not match its SHA-256");
  }
  return row;
}

Result<std::optional<std::string>> KeyedReader::FindDocument(const DocumentKey& key) {
  auto row = view_->Get(Table::kMeta, keys_.Document(key));
  if (!row) return At({.table = Table::kMeta}, std::move(row).error());
  return row;
}

Result<std::vector<TenantDocument>> KeyedReader::ListDocuments(const DocumentQuery& query) {
  std::vector<TenantDocument> documents;
  const std::size_t before_name = keys_.Document({query.kind, query.tenant_id, {}}).size();
  const std::string prefix(keys_.Document({query.kind, query.tenant_id, query.prefix}));
  EVERSTEP_ASSERT(prefix.size() == before_name + query.prefix.size());
  std::string from = prefix;
  if (query.after >= query.prefix) {
    // The next possible name.
    from = keys_.Document({query.kind, query.tenant_id, query.after});
    if (!query.after.empty()) from.push_back('\0');
  }
  auto row = view_->Seek(Table::kMeta, from);
  for (; documents.size() < query.limit && row->Valid(); row->Next()) {
    if (!row->key().starts_with(prefix)) break;
    documents.push_back({{query.kind, query.tenant_id, std::string(row->key().substr(before_name))},
                         std::string(row->value())});
  }
  if (!row->status()) return At({.table = Table::kMeta}, row->status().error());
  return documents;
}

Result<std::optional<HookHolder>> KeyedReader::FindHook(std::string_view tenant_id,
                                                        std::string_view token) {
  auto row = view_->Get(Table::kIndex, keys_.Token(tenant_id, token));
  if (!row) return At({.table = Table::kIndex}, std::move(row).error());
  if (!*row) return std::optional<HookHolder>();
  auto holder = DecodeHolder(**row);
  if (!holder) return CorruptRow({.table = Table::kIndex}, "a hook token's row cannot be read");
  return holder;
}

Result<std::vector<HeldToken>> KeyedReader::ListHooks(std::string_view tenant_id,
                                                      std::string_view after, std::size_t limit) {
  std::vector<HeldToken> tokens;
  const std::string prefix(keys_.Token(tenant_id, {}));
  // The next possible key.
  const std::string from = after.empty() ? prefix : prefix + std::string(after) + '\0';
  auto row = view_->Seek(Table::kIndex, from);
  for (; row->Valid() && row->key().starts_with(prefix) && tokens.size() < limit; row->Next()) {
    auto holder = DecodeHolder(row->value());
    if (!holder) return CorruptRow({.table = Table::kIndex}, "a hook token's row cannot be read");
    tokens.push_back({std::string(row->key().substr(prefix.size())), *std::move(holder)});
  }
  if (!row->status()) return At({.table = Table::kIndex}, row->status().error());
  return tokens;
}

Result<std::vector<Timer>> KeyedReader::TimersDue(const TimerQuery& query) {
  std::vector<Timer> timers;
  const std::string prefix(keys_.Kind(RowKind::kTimer));
  EVERSTEP_ASSERT(query.after.empty() || query.after.starts_with(prefix));
  // The next possible key after the place.
  const std::string from = query.after.empty() ? prefix : query.after + '\0';
  auto row = view_->Seek(Table::kIndex, from);
  for (; row->Valid() && row->key().starts_with(prefix) && timers.size() < query.limit;
       row->Next()) {
    const auto timer = ParseTimerKey(row->key());
    if (!timer) return CorruptRow({.table = Table::kIndex}, "a timer's row cannot be read");
    if (timer->due_at > query.until) break;
    auto run_id = RunIdOf(timer->run);
    if (!run_id) return std::move(run_id).error();
    if (!*run_id) continue;
    timers.push_back(
        {timer->due_at, **run_id, std::string(timer->wait_id), std::string(row->key())});
  }
  if (!row->status()) return At({.table = Table::kIndex}, row->status().error());
  return timers;
}

Result<std::vector<OutboxEntry>> KeyedReader::ReadOutbox(Position after, std::size_t limit) {
  auto heads = Heads();
  if (!heads) return std::move(heads).error();
  std::vector<OutboxEntry> entries;
  if (after >= heads->last_position) return entries;
  const Position from = std::max(Position(after.value() + 1), heads->outbox_front);
  auto row = view_->Seek(Table::kIndex, keys_.Outbox(from));
  for (; row->Valid() && entries.size() < limit; row->Next()) {
    const auto last = ParseOutboxKey(row->key());
    if (!last) break;
    const auto outbox_row = DecodeOutbox(*last, row->value());
    if (!outbox_row) return CorruptRow({.table = Table::kIndex}, "an outbox row cannot be read");
    for (std::size_t i = 0; i < outbox_row->changes.size() && entries.size() < limit; ++i) {
      const Position position(outbox_row->first.value() + i);
      if (position < from) continue;
      const OutboxChange& change = outbox_row->changes[i];
      auto run_id = RunIdOf(change.run);
      if (!run_id) return std::move(run_id).error();
      if (!*run_id) continue;
      entries.push_back(
          {position, **run_id, change.first_seq, change.last_seq, change.committed_at});
    }
  }
  if (!row->status()) return At({.table = Table::kIndex}, row->status().error());
  EVERSTEP_ASSERT(entries.size() <= limit);
  EVERSTEP_ASSERT(entries.empty() || entries.front().position > after);
  return entries;
}

// Rows are in order of time, and so are the changes in a row, so this is a binary search.
Result<Position> KeyedReader::PositionBefore(Timestamp time) {
  auto heads = Heads();
  if (!heads) return std::move(heads).error();
  std::uint64_t low = heads->outbox_front.value();  // everything before it is earlier than `time`
  std::uint64_t high = heads->last_position.value() + 1;  // nothing from here on is
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const auto row = view_->Seek(Table::kIndex, keys_.Outbox(Position(middle)));
    if (!row->status()) return At({.table = Table::kIndex}, row->status().error());
    const auto last = row->Valid() ? ParseOutboxKey(row->key()) : std::nullopt;
    if (!last) {
      high = middle;
      continue;
    }
    const auto outbox_row = DecodeOutbox(*last, row->value());
    if (!outbox_row) return CorruptRow({.table = Table::kIndex}, "an outbox row cannot be read");
    const auto earlier = std::ranges::count_if(
        outbox_row->changes,
        [time](const OutboxChange& change) { return change.committed_at < time; });
    const std::uint64_t first_later =
        outbox_row->first.value() + static_cast<std::uint64_t>(earlier);
    if (first_later > middle) {
      low = std::min(first_later, high);
    } else {
      high = middle;
    }
  }
  return Position(low - 1);
}

Result<std::optional<Timestamp>> KeyedReader::EarliestBehind(Position after) {
  const auto heads = Heads();
  if (!heads) return heads.error();
  const auto next = ReadOutbox(after, 1);
  if (!next) return next.error();
  if (next->empty()) return std::optional<Timestamp>();
  const bool set_back = next->front().position <= heads->set_back_until;
  const Timestamp first = next->front().committed_at;
  return std::optional(set_back ? first - heads->set_back_by : first);
}

Result<StoreHeads> KeyedReader::Heads() {
  if (heads_) return *heads_;
  StoreHeads heads;
  auto stored = view_->Get(Table::kMeta, keys_.Heads());
  if (!stored) return At({.table = Table::kMeta}, std::move(stored).error());
  if (*stored) {
    const auto decoded = DecodeHeads(**stored);
    if (!decoded) return CorruptRow({.table = Table::kMeta}, "the heads row cannot be read");
    heads = *decoded;
  }
  const auto run = view_->SeekForPrev(Table::kRuns, keys_.RunByNo(RunNo(UINT64_MAX)));
  if (!run->status()) return At({.table = Table::kRuns}, run->status().error());
  const auto last_run = run->Valid() ? ParseRunByNo(run->key()) : std::nullopt;
  if (last_run) heads.last_run = std::max(heads.last_run, *last_run);

  const auto row = view_->SeekForPrev(Table::kIndex, keys_.Outbox(Position(UINT64_MAX)));
  if (!row->status()) return At({.table = Table::kIndex}, row->status().error());
  const auto position = row->Valid() ? ParseOutboxKey(row->key()) : std::nullopt;
  if (position) {
    const auto outbox_row = DecodeOutbox(*position, row->value());
    if (!outbox_row)
      return CorruptRow({.table = Table::kIndex}, "the last outbox row cannot be read");
    heads.last_position = std::max(heads.last_position, *position);
    heads.last_persisted_at =
        std::max(heads.last_persisted_at, outbox_row->changes.back().committed_at);
  }
  heads_ = heads;
  return heads;
}

}  // namespace everstep
