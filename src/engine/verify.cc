#include "engine/verify.h"

#include "base/assert.h"
#include "engine/projector.h"
#include "event/catalogue.h"
#include "machine/run_fold.h"

namespace everstep {
namespace {

constexpr std::size_t kPage = 1000;

void Find(VerifyReport& report, const RunId& run_id, std::string what) {
  report.findings.push_back({run_id.value(), std::move(what)});
}

std::string NameOf(const EntityKey& key) { return std::string(Name(key.kind)) + " " + key.id; }

// Replays the log. Returns false if it could not be read to its end.
bool Replay(StateReader& reader, const StoredRun& run, RunFold& fold, VerifyReport& report) {
  EventQuery query;
  query.until = run.state.last_seq;
  query.limit = kPage;
  EventSeq expected(1);
  while (query.after < run.state.last_seq) {
    const auto events = reader.ReadEvents(run, query);
    if (!events) {
      Find(report, run.run_id, events.error().message);
      return false;
    }
    if (events->empty()) {
      Find(report, run.run_id,
           "the log ends before runSeq " + std::to_string(expected.value()) +
               ", but its row ends at " + std::to_string(run.state.last_seq.value()));
      return false;
    }
    for (const Event& event : *events) {
      if (event.seq != expected) {
        Find(report, run.run_id, "runSeq " + std::to_string(expected.value()) + " is missing");
        return false;
      }
      expected = Next(expected);
      ++report.events;
      if (fold.Apply(event) == RunFold::Applied::kInvalid) {
        Find(report, run.run_id,
             "runSeq " + std::to_string(event.seq.value()) + " (" +
                 std::string(SpecOf(event.type).name) + ") is an invalid transition");
      }
    }
    query.after = events->back().seq;
    EVERSTEP_ASSERT(expected == Next(query.after));
  }
  return true;
}

void CompareEntities(StateReader& reader, const StoredRun& run, const RunFold& fold,
                     VerifyReport& report) {
  std::size_t stored = 0;
  const Status visited = reader.VisitEntities(
      run.run_no, std::nullopt, [&](const EntityKey& key, const EntityState& state) {
        ++stored;
        const auto replayed = fold.entities().find(key);
        if (replayed == fold.entities().end()) {
          Find(report, run.run_id, NameOf(key) + " is stored, but no event created it");
        } else if (!(replayed->second == state)) {
          Find(report, run.run_id, NameOf(key) + " differs from its replayed events");
        }
      });
  if (!visited) return Find(report, run.run_id, visited.error().message);
  std::size_t replayed = 0;
  for (const auto& [key, state] : fold.entities()) {
    replayed += state.status != EntityStatus::kAbsent ? 1 : 0;
  }
  if (replayed > stored) {
    Find(report, run.run_id, "an entity that events created is not stored");
  }
}

}  // namespace

Result<VerifyReport> VerifyStore(StateStore& store, const VerifyProgress& progress) {
  VerifyReport report;
  const Status visited = store.VisitRuns([&](const StoredRun& listed) -> Status {
    ++report.runs;
    if (!listed.quarantine.empty()) {
      Find(report, listed.run_id, "quarantined: " + listed.quarantine);
      return Ok();
    }
    const auto reader = store.Read();
    const auto run = reader->FindRun(listed.run_id);
    if (!run) {
      Find(report, listed.run_id, run.error().message);
      return Ok();
    }
    if (!*run) return Ok();  // removed by retention
    RunFold fold((*run)->state.scope, (*run)->state.key_version);
    if (Replay(*reader, **run, fold, report)) {
      if (!(fold.run() == (*run)->state)) {
        Find(report, listed.run_id, "the run's row differs from its replayed events");
      }
      CompareEntities(*reader, **run, fold, report);
    }
    if (progress) progress(report.runs, report.events);
    return Ok();
  });
  if (!visited) return visited.error();
  const Status checked = store.Check([&](StoreFault fault) {
    report.findings.push_back({std::move(fault.run_id), std::move(fault.what)});
  });
  if (!checked) return checked.error();
  return report;
}

}  // namespace everstep
