// The part of WorldReader that answers calls: single entities, and lists of what a run has, in
// pages.

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "event/catalogue.h"
#include "serve/devkit/world_event.h"
#include "serve/devkit/world_paging.h"
#include "serve/devkit/world_reader.h"

namespace everstep {
namespace {

constexpr std::size_t kRowsPerRead = 1000;
constexpr std::uint64_t kFewEvents = 8;
constexpr std::size_t kRowsMax = 100'000;        // examined for one call
constexpr std::size_t kRowsPerPageMax = 10'000;  // likewise for a page, which then ends early

// Entities are found without a run id only if their run started within this time of its creation.
constexpr std::chrono::hours kStartedWithin{24};
constexpr std::array kKinds = {EntityKind::kStep, EntityKind::kHook, EntityKind::kWait,
                               EntityKind::kContext};

std::optional<std::uint64_t> NumberOf(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

WorldError TooManyRows(std::string_view missing) {
  return {"WorkflowWorldError", 413,
          "more than 100,000 rows would have to be read to find it; name " + std::string(missing)};
}

}  // namespace

WorldOutcome WorldReader::Answer(std::string_view method, const CborItem& args, CborWriter& cbor) {
  struct Entry {
    std::string_view method;
    WorldOutcome (WorldReader::*answer)(const CborItem&, CborWriter&);
  };
  static constexpr Entry kReads[] = {
      {"runs.get", &WorldReader::GetRun},
      {"runs.list", &WorldReader::ListRuns},
      {"steps.get", &WorldReader::GetStep},
      {"steps.list", &WorldReader::ListSteps},
      {"events.get", &WorldReader::GetEvent},
      {"events.list", &WorldReader::ListEvents},
      {"events.listByCorrelationId", &WorldReader::ListEventsOf},
      {"hooks.get", &WorldReader::GetHook},
      {"hooks.list", &WorldReader::ListHooks},
  };
  const auto* read = std::ranges::find(kReads, method, &Entry::method);
  if (read == std::end(kReads)) {
    return WorldError{"WorkflowWorldError", 501, "unknown call \"" + std::string(method) + "\""};
  }
  return (this->*read->answer)(args, cbor);
}

WorldOutcome WorldReader::GetRun(const CborItem& args, CborWriter& cbor) {
  const auto found = FindRun(args.Text("runId"));
  if (const auto* error = std::get_if<WorldError>(&found)) return *error;
  const auto& run = std::get<StoredRun>(found);
  return WriteRun(run, DetailOf(args), cbor);
}

// The ids of steps, hooks and waits begin with the time at which their run started.
std::variant<StoredRun, WorldError> WorldReader::FindRunOf(const CborItem& args,
                                                           std::string_view entity_id) {
  const std::string_view run_id = args.Text("runId");
  const Timestamp started_at = TimeOfId(entity_id);
  if (!run_id.empty() || started_at == Timestamp{}) return FindRun(run_id);
  RunQuery query{.tenant_id = tenant_id_,
                 .created_from = started_at - kStartedWithin,
                 .created_until = started_at + std::chrono::milliseconds(1),
                 .limit = kRowsPerRead};
  const std::size_t rows_before = rows_read_;
  do {
    auto page = reader_.ListRuns(query);
    if (!page) return WorldErrorOf(page.error());
    rows_read_ += page->rows;
    for (StoredRun& run : page->runs) {
      const auto at = std::chrono::floor<std::chrono::milliseconds>(run.state.started_at);
      if (at != started_at || !run.quarantine.empty()) continue;
      for (const EntityKind kind : kKinds) {
        const auto entity = reader_.FindEntity(run.run_no, {kind, std::string(entity_id)});
        if (entity && *entity) return std::move(run);
      }
    }
    query.cursor = page->cursor;
  } while (!query.cursor.empty() && rows_read_ - rows_before < kRowsMax);
  if (!query.cursor.empty()) return TooManyRows("its run");
  return WorldError::NotFound("no entity has the id \"" + std::string(entity_id) + "\"");
}

WorldOutcome WorldReader::GetStep(const CborItem& args, CborWriter& cbor) {
  const auto found = FindRunOf(args, args.Text("stepId"));
  if (const auto* error = std::get_if<WorldError>(&found)) return *error;
  const auto& run = std::get<StoredRun>(found);
  const std::string step_id(args.Text("stepId"));
  const auto step = reader_.FindEntity(run.run_no, {EntityKind::kStep, step_id});
  if (!step) return WorldErrorOf(step.error());
  if (!*step) return WorldError::NotFound("Step \"" + step_id + "\" not found");
  return WriteStep(run, step_id, **step, DetailOf(args), cbor);
}

// Steps are listed in the order of their first events, so a page reads the part of the log where
// its steps begin.
WorldOutcome WorldReader::ListSteps(const CborItem& args, CborWriter& cbor) {
  const Paging paging = PagingOf(args, 20, true);
  Page at{.limit = paging.limit, .newest_first = paging.newest_first};
  if (!paging.cursor.empty()) {
    const auto cursor = NumberOf(paging.cursor);
    if (!cursor) return BadCursor();
    (paging.newest_first ? at.before : at.after) = EventSeq(*cursor);
  }
  const auto found = FindRun(args.Text("runId"));
  const auto* run = std::get_if<StoredRun>(&found);
  bool more = false;
  cbor.BeginMap();
  cbor.Key("data");
  cbor.BeginArray();
  if (run != nullptr) {
    if (auto error = WriteSteps(*run, at, DetailOf(args), more, cbor)) return error;
  }
  cbor.End();
  const EventSeq end = paging.newest_first ? at.before : at.after;
  const bool has_cursor = more || at.limit < paging.limit;
  WritePageEnd(has_cursor ? std::to_string(end.value()) : std::string(), more, cbor);
  cbor.End();
  return std::nullopt;
}

// Moves `at` to where the next page begins.
WorldOutcome WorldReader::WriteSteps(const StoredRun& run, Page& at, Detail resolve, bool& more,
                                     CborWriter& cbor) {
  const std::size_t until = cbor.size() + kPageBytes;
  const std::size_t rows_max = rows_read_ + kRowsPerPageMax;
  at.before = std::min(at.before, EventSeq(run.state.last_seq.value() + 1));
  while (Next(at.after) < at.before) {
    const auto events = ReadEvents(run, {.after = at.after,
                                         .until = EventSeq(at.before.value() - 1),
                                         .limit = std::min(kRowsPerRead, 8 * (at.limit + 8)),
                                         .bytes_max = kPageBytes,
                                         .newest_first = at.newest_first});
    if (!events) return WorldErrorOf(events.error());
    if (events->empty()) break;
    for (const Event& event : *events) {
      const bool begins =
          SpecOf(event.type).entity == EntityKind::kStep && event.previous_of_entity == EventSeq();
      more = (begins && at.limit == 0) || cbor.size() >= until || rows_read_ >= rows_max;
      if (more) return std::nullopt;
      ++rows_read_;
      if (begins) {
        const auto step = reader_.FindEntity(run.run_no, {EntityKind::kStep, event.entity_id});
        if (!step) return WorldErrorOf(step.error());
        if (*step) {
          if (auto error = WriteStep(run, event.entity_id, **step, resolve, cbor)) return error;
          --at.limit;
        }
      }
      (at.newest_first ? at.before : at.after) = event.seq;
    }
  }
  return std::nullopt;
}

// ---- events

WorldOutcome WorldReader::WriteEvents(const StoredRun& run, std::string_view member,
                                      const Page& page, Detail resolve, CborWriter& cbor) {
  const std::size_t until = cbor.size() + kPageBytes;
  cbor.Key(member);
  cbor.BeginArray();
  std::size_t written = 0;
  EventSeq last;
  bool more = false;
  // Seqs are dense, so the page before a position can be found by counting back.
  EventSeq after = page.after;
  EventSeq before = std::min(page.before, EventSeq(run.state.last_seq.value() + 1));
  while (!more && Next(after) < before) {
    EventQuery query{.after = after,
                     .until = EventSeq(before.value() - 1),
                     .limit = std::min(kRowsPerRead, page.limit - written + 1),
                     .bytes_max = kPageBytes,
                     .newest_first = page.newest_first};
    // A few are read one by one: that is quicker than to begin a walk.
    const bool few = !page.newest_first && before.value() - after.value() <= kFewEvents;
    if (few) query.until = Next(after);
    auto events = ReadEvents(run, query);
    if (!events) return WorldErrorOf(events.error());
    if (events->empty()) break;
    rows_read_ += events->size();
    for (const Event& event : *events) {
      if (written == page.limit || cbor.size() >= until) {
        more = true;
        break;
      }
      if (!WriteEvent(run, event, resolve, cbor)) continue;
      last = event.seq;
      ++written;
    }
    (page.newest_first ? before : after) = events->back().seq;
  }
  cbor.End();
  WritePageEnd(written == 0 ? std::string() : EventIdOf(last), more, cbor);
  return std::nullopt;
}

WorldOutcome WorldReader::GetEvent(const CborItem& args, CborWriter& cbor) {
  const auto found = FindRun(args.Text("runId"));
  if (const auto* error = std::get_if<WorldError>(&found)) return *error;
  const auto& run = std::get<StoredRun>(found);
  const auto seq = SeqOfEventId(args.Text("eventId"));
  if (seq) {
    const auto events =
        reader_.ReadEvents(run, {.after = EventSeq(seq->value() - 1), .until = *seq, .limit = 1});
    if (!events) return WorldErrorOf(events.error());
    if (!events->empty() && WriteEvent(run, events->front(), DetailOf(args), cbor)) {
      return std::nullopt;
    }
  }
  return WorldError::NotFound("Event \"" + std::string(args.Text("eventId")) + "\" not found");
}

WorldOutcome WorldReader::ListEvents(const CborItem& args, CborWriter& cbor) {
  const Paging paging = PagingOf(args, 100, false);
  Page page{.limit = paging.limit, .newest_first = paging.newest_first};
  if (!paging.cursor.empty()) {
    const auto behind = SeqOfEventId(paging.cursor);
    if (!behind) return BadCursor();
    (paging.newest_first ? page.before : page.after) = *behind;
  }
  const auto found = FindRun(args.Text("runId"));
  static const StoredRun kNone;
  const auto* run = std::get_if<StoredRun>(&found);
  cbor.BeginMap();
  if (auto error = WriteEvents(run == nullptr ? kNone : *run, "data", page, DetailOf(args), cbor)) {
    return error;
  }
  cbor.End();
  return std::nullopt;
}

WorldOutcome WorldReader::ListEventsOf(const CborItem& args, CborWriter& cbor) {
  const Paging paging = PagingOf(args, 100, false);
  const std::string id(args.Text("correlationId"));
  EventQuery query{
      .limit = paging.limit + 1, .bytes_max = kPageBytes, .newest_first = paging.newest_first};
  if (!paging.cursor.empty()) {
    const auto behind = SeqOfEventId(paging.cursor);
    if (!behind) return BadCursor();
    if (!paging.newest_first) query.after = *behind;
    if (paging.newest_first) query.until = EventSeq(behind->value() - 1);
  }
  const auto found = FindRunOf(args, id);
  const auto* run = std::get_if<StoredRun>(&found);
  const auto is_before = [&paging](EventSeq a, EventSeq b) {
    return paging.newest_first ? b < a : a < b;
  };
  std::vector<Event> events;
  std::optional<EventSeq>
      end;  // where the first cut-off read ended; events after it may be missing
  for (std::size_t i = 0; run != nullptr && i < kKinds.size(); ++i) {
    query.entity = EntityKey{kKinds[i], id};
    auto read = reader_.ReadEvents(*run, query);
    if (!read) return WorldErrorOf(read.error());
    if (read->empty()) continue;
    rows_read_ += read->size();
    const EventSeq last = read->back().seq;
    if (MayHaveMore(query, *read) && (!end || is_before(last, *end))) end = last;
    std::ranges::move(*read, std::back_inserter(events));
  }
  if (end) std::erase_if(events, [&](const Event& event) { return is_before(*end, event.seq); });
  std::ranges::sort(events, is_before, &Event::seq);
  const std::size_t until = cbor.size() + kPageBytes;
  cbor.BeginMap();
  cbor.Key("data");
  cbor.BeginArray();
  std::size_t written = 0;
  EventSeq last;
  bool more = end.has_value();
  for (const Event& event : events) {
    if (written == paging.limit || cbor.size() >= until) {
      more = true;
      break;
    }
    last = event.seq;
    if (WriteEvent(*run, event, DetailOf(args), cbor)) ++written;
  }
  cbor.End();
  WritePageEnd(last == EventSeq() ? std::string() : EventIdOf(last), more, cbor);
  cbor.End();
  return std::nullopt;
}

// ---- hooks

WorldOutcome WorldReader::GetHook(const CborItem& args, CborWriter& cbor) {
  const std::string hook_id(args.Text("hookId"));
  const std::string_view token = args.Text("token");
  std::optional<HookHolder> holder;
  if (!token.empty()) {
    auto found = reader_.FindHook(tenant_id_, token);
    if (!found) return WorldErrorOf(found.error());
    if (*found && IsHeld(**found)) holder = std::move(*found);
  } else {
    std::string after;
    const std::size_t rows_before = rows_read_;
    while (!holder) {
      if (rows_read_ - rows_before >= kRowsMax) return TooManyRows("its token");
      auto tokens = reader_.ListHooks(tenant_id_, after, kRowsPerRead);
      if (!tokens) return WorldErrorOf(tokens.error());
      if (tokens->empty()) break;
      rows_read_ += tokens->size();
      for (HeldToken& held : *tokens) {
        if (held.holder.hook_id == hook_id && IsHeld(held.holder)) holder = std::move(held.holder);
      }
      after = tokens->back().token;
    }
  }
  if (!holder) return WorldError::NoHook(token.empty() ? std::string_view(hook_id) : token);
  const auto found = FindRun(holder->run_id.value());
  if (const auto* error = std::get_if<WorldError>(&found)) return *error;
  const auto& run = std::get<StoredRun>(found);
  const auto hook = reader_.FindEntity(run.run_no, {EntityKind::kHook, holder->hook_id});
  if (!hook) return WorldErrorOf(hook.error());
  if (!*hook) return WorldError::NoHook(holder->hook_id);
  return WriteHook(run, holder->hook_id, **hook, DetailOf(args), cbor);
}

WorldOutcome WorldReader::ListHooks(const CborItem& args, CborWriter& cbor) {
  const Paging paging = PagingOf(args, 100, false);
  struct Live {
    std::string place;  // in the list
    RunId run_id;
    std::string hook_id;
  };
  std::vector<Live> live;
  // The ids of runs and hooks begin with their time. `order`: of creation, within the run.
  const auto add = [&live](RunId run_id, std::string hook_id, std::uint64_t order) {
    const std::string digits = std::to_string(order);
    std::string place = run_id.value();
    place.append("/").append(20 - digits.size(), '0').append(digits).append("/").append(hook_id);
    live.push_back({std::move(place), std::move(run_id), std::move(hook_id)});
  };
  const std::string_view run_id = args.Text("runId");
  if (!run_id.empty()) {
    const auto found = FindRun(run_id);
    if (const auto* run = std::get_if<StoredRun>(&found)) {
      const Status visited = reader_.VisitEntities(
          run->run_no, EntityKind::kHook, [&](const EntityKey& key, const EntityState& state) {
            ++rows_read_;
            const auto holder = reader_.FindHook(tenant_id_, state.token);
            const bool ours = holder && *holder && (*holder)->run_id == run->run_id &&
                              (*holder)->hook_id == key.id && IsHeld(**holder);
            if (!ours) return;
            add(run->run_id, key.id, state.first_seq.value());
          });
      if (!visited) return WorldErrorOf(visited.error());
    }
  } else {
    std::string after;
    for (const std::size_t begin = rows_read_; rows_read_ - begin < kRowsMax;) {
      auto tokens = reader_.ListHooks(tenant_id_, after, kRowsPerRead);
      if (!tokens) return WorldErrorOf(tokens.error());
      if (tokens->empty()) break;
      rows_read_ += tokens->size();
      after = tokens->back().token;
      for (HeldToken& held : *tokens) {
        if (!IsHeld(held.holder)) continue;
        add(std::move(held.holder.run_id), std::move(held.holder.hook_id), 0);
      }
    }
  }
  std::ranges::sort(live, {}, &Live::place);
  if (paging.newest_first) std::ranges::reverse(live);
  if (!paging.cursor.empty()) {
    std::erase_if(live, [&](const Live& hook) {
      return paging.newest_first ? hook.place >= paging.cursor : hook.place <= paging.cursor;
    });
  }
  const std::size_t until = cbor.size() + kPageBytes;
  std::size_t looked_at = 0;
  cbor.BeginMap();
  cbor.Key("data");
  cbor.BeginArray();
  for (; looked_at < std::min(live.size(), paging.limit) && cbor.size() < until; ++looked_at) {
    const Live& hook = live[looked_at];
    const auto found = FindRun(hook.run_id.value());
    const auto* run = std::get_if<StoredRun>(&found);
    if (run == nullptr) continue;
    const auto state = reader_.FindEntity(run->run_no, {EntityKind::kHook, hook.hook_id});
    if (!state) return WorldErrorOf(state.error());
    if (!*state) continue;
    if (auto error = WriteHook(*run, hook.hook_id, **state, DetailOf(args), cbor)) return error;
  }
  cbor.End();
  WritePageEnd(looked_at == 0 ? std::string() : live[looked_at - 1].place, looked_at < live.size(),
               cbor);
  cbor.End();
  return std::nullopt;
}

}  // namespace everstep
