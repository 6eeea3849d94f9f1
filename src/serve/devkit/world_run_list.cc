// The part of WorldReader that lists runs.

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "serve/devkit/world_paging.h"
#include "serve/devkit/world_reader.h"

namespace everstep {
namespace {

// Runs of plans belong to the engine, not to applications: they are read and left out. A page ends
// early when one status has taken this many rows.
constexpr std::size_t kRowsPerPageMax = 10'000;
constexpr std::size_t kRowsPerRead = 1000;
// A page also ends when its runs have had this many changes of attributes.
constexpr std::size_t kChangesPerPageMax = 100'000;

// A run, or where to continue.
struct ListedRun {
  StoredRun run;
  std::string cursor;
};

// The beginning of a list of runs.
struct RunList {
  std::vector<ListedRun> runs;
  std::string cut_at;  // a cursor: runs after it have not been read; empty: all have been read
};

using Statuses = std::set<RunStatus>;

// The log's statuses for a status of DevKit; empty if there is no such status.
Statuses StatusesNamed(std::string_view name) {
  if (name == "pending") return {RunStatus::kPending, RunStatus::kApproved};
  if (name == "running") return {RunStatus::kRunning, RunStatus::kPaused};
  if (name == "completed") return {RunStatus::kCompleted};
  if (name == "failed") return {RunStatus::kFailed};
  if (name == "cancelled") return {RunStatus::kCancelled};
  return {};
}

// The log's statuses for those that the call asks for: one, or a list. Nullopt if one is unknown.
std::optional<Statuses> StatusesOf(const CborItem& wanted) {
  if (wanted.kind == CborItem::Kind::kText) {
    Statuses statuses = StatusesNamed(wanted.text);
    if (statuses.empty()) return std::nullopt;
    return statuses;
  }
  Statuses all;
  for (const CborItem& item : wanted.items) {
    const Statuses statuses = StatusesNamed(item.text);
    if (statuses.empty()) return std::nullopt;
    all.insert(statuses.begin(), statuses.end());
  }
  return all;
}

// Adds the first runs that match the query, more than `limit` of them if there are, and counts the
// rows that this took. Every read but the first takes many rows: then most runs are left out.
Status ReadRuns(StateReader& reader, RunQuery query, std::size_t limit, std::size_t& rows,
                RunList& list) {
  std::size_t found = 0;
  std::size_t rows_here = 0;
  query.limit = limit + 1;
  while (true) {
    auto page = reader.ListRuns(query);
    if (!page) return page.error();
    rows_here += page->rows;
    rows += page->rows;
    for (std::size_t i = 0; i < page->runs.size(); ++i) {
      StoredRun& run = page->runs[i];
      if (run.state.engine_run_ref == kOwnEngine || !run.quarantine.empty()) continue;
      list.runs.push_back({std::move(run), std::move(page->cursors[i])});
      ++found;
    }
    if (found > limit || page->cursor.empty()) return Ok();
    query.cursor = page->cursor;
    if (rows_here >= kRowsPerPageMax) break;
    query.limit = kRowsPerRead;
  }
  const bool earlier = list.cut_at.empty() || IsListedBefore(query, query.cursor, list.cut_at);
  if (earlier) list.cut_at = query.cursor;
  return Ok();
}

}  // namespace

WorldOutcome WorldReader::ListRuns(const CborItem& args, CborWriter& cbor) {
  const Paging paging = PagingOf(args, 20, true);
  RunQuery query{.tenant_id = tenant_id_,
                 .plan_id = std::string(args.Text("workflowName")),
                 .cursor = std::string(paging.cursor),
                 .oldest_first = !paging.newest_first};
  RunList list;
  const CborItem* wanted = args.Find("status");
  if (wanted == nullptr || wanted->kind == CborItem::Kind::kNull) {
    const Status read = ReadRuns(reader_, query, paging.limit, rows_read_, list);
    if (!read) return WorldErrorOf(read.error());
  } else {
    const auto statuses = StatusesOf(*wanted);
    if (!statuses) return WorldError::Invalid("unknown run status");
    for (const RunStatus status : *statuses) {
      query.status = status;
      const Status read = ReadRuns(reader_, query, paging.limit, rows_read_, list);
      if (!read) return WorldErrorOf(read.error());
    }
  }
  const auto is_before = [&query](const std::string& a, const std::string& b) {
    return IsListedBefore(query, a, b);
  };
  std::ranges::sort(list.runs, is_before, &ListedRun::cursor);
  std::string end = list.cut_at;
  if (!end.empty()) {
    std::erase_if(list.runs, [&](const ListedRun& run) { return is_before(end, run.cursor); });
  }
  const std::size_t until = cbor.size() + kPageBytes;
  const std::size_t rows_max = rows_read_ + kChangesPerPageMax;
  std::size_t written = 0;
  cbor.BeginMap();
  cbor.Key("data");
  cbor.BeginArray();
  const auto has_room = [&] { return cbor.size() < until && rows_read_ < rows_max; };
  for (; written < std::min(list.runs.size(), paging.limit) && has_room(); ++written) {
    if (auto error = WriteRun(list.runs[written].run, DetailOf(args), cbor)) return error;
  }
  cbor.End();
  const bool all = written == list.runs.size();
  const bool more = !all || !end.empty();
  if (!all || (end.empty() && written > 0)) end = list.runs[written - 1].cursor;
  WritePageEnd(end, more, cbor);
  cbor.End();
  return std::nullopt;
}

}  // namespace everstep
