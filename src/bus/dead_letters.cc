// Dead letters and undelivered events: listing, replaying and purging them.

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "bus/event_bus.h"
#include "event/catalogue.h"

namespace everstep {
namespace {

constexpr std::size_t kLettersPerRead = 1'000;
constexpr std::size_t kEntriesLookedAt = 10'000;
constexpr std::size_t kIdsMax = 1'000;
constexpr std::size_t kRunIdBytesMax = 512;

using Place = std::pair<RunId, EventSeq>;

Error BadArgument(std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message), {}};
}

// "<runId>:<runSeq>"; the run id may contain colons.
std::optional<Place> PlaceOf(std::string_view id) {
  const std::size_t colon = id.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon > kRunIdBytesMax) return std::nullopt;
  std::uint64_t seq = 0;
  const auto read = std::from_chars(id.data() + colon + 1, id.data() + id.size(), seq);
  if (read.ec != std::errc() || read.ptr != id.data() + id.size() || seq == 0) return std::nullopt;
  return Place{RunId(std::string(id.substr(0, colon))), EventSeq(seq)};
}

class Matcher {
 public:
  static Result<Matcher> Of(const LetterFilter& filter) {
    Matcher matcher(filter);
    if (filter.run_id.size() > kRunIdBytesMax)
      return BadArgument("the run id is longer than 512 bytes");
    if (filter.ids.size() > kIdsMax) return BadArgument("name at most 1000 dead letters");
    for (const std::string& id : filter.ids) {
      const auto place = PlaceOf(id);
      if (!place) return BadArgument("invalid dead letter id \"" + id + "\": use <runId>:<runSeq>");
      matcher.ids_.emplace(place->first.value(), place->second.value());
    }
    if (!filter.event_type.empty()) {
      matcher.type_ = EventTypeNamed(filter.event_type);
      if (!matcher.type_) return BadArgument("there is no event type " + filter.event_type);
    }
    return matcher;
  }
  bool Matches(const DeadLetter& letter) const {
    if (!ids_.empty() && !ids_.contains({letter.run_id.value(), letter.seq.value()})) return false;
    if (!filter_.run_id.empty() && filter_.run_id != letter.run_id.value()) return false;
    if (type_ && *type_ != letter.type) return false;
    return letter.reason.find(filter_.reason) != std::string::npos;
  }

 private:
  explicit Matcher(const LetterFilter& filter) : filter_(filter) {}

  const LetterFilter filter_;
  std::set<std::pair<std::string, std::uint64_t>> ids_;
  std::optional<EventType> type_;
};

// Visits the dead letters in order until `visit` returns false.
Status VisitLetters(StateStore& store, DeadLetterQuery query,
                    const std::function<bool(const DeadLetter&)>& visit) {
  query.limit = kLettersPerRead;
  while (true) {
    const auto letters = store.Read()->ListDeadLetters(query);
    if (!letters) return letters.error();
    for (const DeadLetter& letter : *letters) {
      if (!visit(letter)) return Ok();
    }
    if (letters->size() < query.limit) return Ok();
    query.after_run = letters->back().run_id;
    query.after_seq = letters->back().seq;
  }
}

LetterView Rendered(const EventRenderer& renderer, StateReader& reader, const DeadLetter& letter) {
  LetterView view{letter, {}, {}};
  const auto run = reader.FindRun(letter.run_id);
  EventQuery query;
  query.after = EventSeq(letter.seq.value() - 1);
  query.until = letter.seq;
  const auto events = run && *run ? reader.ReadEvents(**run, query)
                                  : Result<std::vector<Event>>(std::vector<Event>());
  QueuedEvent queued;
  if (events && !events->empty()) view.letter.persisted_at = events->front().persisted_at;
  if (!run || !events) {
    view.fault = "cannot read the event: " + (run ? events.error().message : run.error().message);
  } else if (events->empty()) {
    view.fault = "its run no longer exists";
  } else if (!renderer.Render(**run, events->front(), queued)) {
    view.fault = "the sink's filter does not match it";
  } else {
    view.messages = std::move(queued.messages);
    view.fault = std::move(queued.fault);
  }
  return view;
}

}  // namespace

std::string LetterId(const DeadLetter& letter) {
  return letter.run_id.value() + ":" + std::to_string(letter.seq.value());
}

Result<LetterPage> EventBus::Letters(const Caller& caller, const std::string& sink_id,
                                     const LetterFilter& filter, const std::string& cursor,
                                     std::size_t limit) {
  EntryPtr entry;
  {
    const std::lock_guard lock(mutex_);
    auto found = Find(caller, sink_id);
    if (!found) return std::move(found).error();
    entry = *std::move(found);
  }
  const auto matcher = Matcher::Of(filter);
  if (!matcher) return matcher.error();
  DeadLetterQuery query{.sink = entry->key, .run_id = RunId(filter.run_id)};
  if (!cursor.empty()) {
    const auto place = PlaceOf(cursor);
    if (!place) return BadArgument("invalid cursor: pass the one of the previous page");
    query.after_run = place->first;
    query.after_seq = place->second;
  }
  LetterPage page;
  const Status visited = VisitLetters(parts_.log.store(), query, [&](const DeadLetter& letter) {
    if (!matcher->Matches(letter)) return true;
    if (page.letters.size() == limit) {
      page.cursor = LetterId(page.letters.back());
      return false;
    }
    page.letters.push_back(letter);
    return true;
  });
  if (!visited) return visited.error();
  return page;
}

Result<LetterView> EventBus::Letter(const Caller& caller, const std::string& sink_id,
                                    const std::string& id) {
  const auto page = Letters(caller, sink_id, {{id}, {}, {}, {}}, "", 1);
  if (!page) return page.error();
  if (page->letters.empty()) {
    return Error{
        ErrorCode::kDeadLetterNotFound, "sink " + sink_id + " has no dead letter " + id, {}};
  }
  const std::lock_guard lock(mutex_);
  const auto entry = Find(caller, sink_id);
  if (!entry) return entry.error();
  const EventRenderer renderer((*entry)->definition, (*entry)->key.tenant_id,
                               [](const std::string&, std::string_view) {
                                 return Result<std::string>("{\"$artifact\":{}}");
                               });
  return Rendered(renderer, *parts_.log.store().Read(), page->letters.front());
}

Result<std::vector<LetterView>> EventBus::Pending(const Caller& caller, const std::string& sink_id,
                                                  std::size_t limit) {
  EntryPtr entry;
  Position position;
  {
    const std::lock_guard lock(mutex_);
    auto found = Find(caller, sink_id);
    if (!found) return std::move(found).error();
    entry = *std::move(found);
    position = ViewOf(*entry).progress.position;
  }
  const EventRenderer renderer(entry->definition, entry->key.tenant_id,
                               [](const std::string&, std::string_view) {
                                 return Result<std::string>("{\"$artifact\":{}}");
                               });
  std::vector<LetterView> views;
  const auto reader = parts_.log.store().Read();
  const auto entries = reader->ReadOutbox(position, kEntriesLookedAt);
  if (!entries) return entries.error();
  for (const OutboxEntry& change : *entries) {
    for (EventSeq seq = change.first_seq; seq <= change.last_seq; seq = Next(seq)) {
      if (views.size() == limit) return views;
      DeadLetter letter{change.run_id, seq, {}, change.committed_at, {}, 0, {}};
      LetterView view = Rendered(renderer, *reader, letter);
      if (!view.messages.empty() || !view.fault.starts_with("the sink's filter")) {
        views.push_back(std::move(view));
      }
    }
  }
  return views;
}

Result<std::vector<std::pair<RunId, EventSeq>>> EventBus::Choose(const Entry& entry,
                                                                 const LetterFilter& filter) {
  const auto matcher = Matcher::Of(filter);
  if (!matcher) return matcher.error();
  std::vector<Place> places;
  const Status visited =
      VisitLetters(parts_.log.store(), {.sink = entry.key, .run_id = RunId(filter.run_id)},
                   [&](const DeadLetter& letter) {
                     if (matcher->Matches(letter)) places.emplace_back(letter.run_id, letter.seq);
                     return places.size() < kLettersAtOnce;
                   });
  if (!visited) return visited.error();
  return places;
}

Result<std::uint64_t> EventBus::ReplayLetters(const Caller& caller, const std::string& sink_id,
                                              const LetterFilter& filter, double per_second,
                                              bool dry) {
  const auto change = BeginChange(caller, sink_id);
  if (!change) return change.error();
  Entry& entry = *change->entry;
  auto places = Choose(entry, filter);
  if (!places) return std::move(places).error();
  if (entry.definition.delivery.later_events == "hold") {
    // Replays all letters of each chosen run: only then is their order kept.
    std::set<std::string> runs;
    for (const Place& place : *places) runs.insert(place.first.value());
    places->clear();
    for (const std::string& run : runs) {
      const Status visited =
          VisitLetters(parts_.log.store(), {.sink = entry.key, .run_id = RunId(run)},
                       [&](const DeadLetter& letter) {
                         places->emplace_back(letter.run_id, letter.seq);
                         return true;
                       });
      if (!visited) return visited.error();
    }
  }
  const std::uint64_t count = places->size();
  if (dry || count == 0) return count;
  if (!entry.runner) {
    return BadArgument("sink " + sink_id + " is not running; resume it first");
  }
  const Status begun = entry.runner->Begin({*std::move(places), per_second});
  if (!begun) return begun.error();
  return count;
}

Result<std::uint64_t> EventBus::PurgeLetters(const Caller& caller, const std::string& sink_id,
                                             const LetterFilter& filter, bool dry) {
  const auto change = BeginChange(caller, sink_id);
  if (!change) return change.error();
  Entry& entry = *change->entry;
  auto places = Choose(entry, filter);
  if (!places) return std::move(places).error();
  const std::uint64_t count = places->size();
  if (dry || count == 0) return count;
  Status purged = Ok();
  if (entry.runner) {
    purged = entry.runner->Purge(*std::move(places));
  } else {
    const auto mark = MarkOf(entry);
    if (!mark) return mark.error();
    purged = parts_.log.committer().CarryOut(SinkMove{*mark, {}, *std::move(places)});
  }
  if (!purged) return purged.error();
  return count;
}

}  // namespace everstep
