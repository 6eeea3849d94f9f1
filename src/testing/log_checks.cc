#include "testing/log_checks.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/verify.h"
#include "event/catalogue.h"

namespace everstep {
namespace {

using Answer = Attempt::Answer;

std::string At(const RunId& run_id, EventSeq seq) {
  return run_id.value() + " runSeq " + std::to_string(seq.value());
}

std::map<std::string, std::size_t> CountMarks(const StoredLog& log) {
  std::map<std::string, std::size_t> marks;
  for (const auto& [run_id, run] : log.runs) {
    for (const Event& event : run.events) ++marks[event.emitted_by];
  }
  return marks;
}

// Calls `expect` for each attempt with this answer, and with the number of its events that exist.
template <typename Expect>
Findings CheckMarks(const StoredLog& log, const AnswerBook& book, const std::set<Answer>& answers,
                    const Expect& expect) {
  Findings findings;
  const auto marks = CountMarks(log);
  for (std::size_t number = 0; number < book.attempts().size(); ++number) {
    const Attempt& attempt = book.attempts()[number];
    if (!answers.contains(attempt.answer)) continue;
    const auto found = marks.find(AnswerBook::MarkOf(number));
    const std::size_t there = found == marks.end() ? 0 : found->second;
    const std::string fault = expect(attempt, there);
    if (fault.empty()) continue;
    findings.push_back("order " + std::to_string(number) + " " + fault + " (" +
                       std::to_string(there) + " of its events exist)");
  }
  return findings;
}

bool SameEvent(const Event& model, const Event& stored) {
  std::string instance = model.instance_id;
  if (model.event_id.empty() && instance == model.entity_id + "/") instance += stored.event_id;
  const bool same_id =
      model.event_id.empty() ? !stored.event_id.empty() : model.event_id == stored.event_id;
  return same_id && instance == stored.instance_id && model.type == stored.type &&
         model.seq == stored.seq && model.entity_id == stored.entity_id &&
         model.parent_id == stored.parent_id && model.emitted_by == stored.emitted_by &&
         model.logical_attempt == stored.logical_attempt &&
         model.engine_attempt == stored.engine_attempt && model.payload == stored.payload &&
         model.facts == stored.facts;
}

bool SameRow(const ReferenceLog::Run& model, const RunState& stored) {
  const auto count = [&](EntityKind kind, EntityStatus status) {
    return model.Count(kind, status);
  };
  return model.scope == stored.scope && model.key_version == stored.key_version &&
         model.status == stored.status && model.pauses == stored.pause_epoch &&
         model.events.size() == stored.last_seq.value() && !stored.inconsistent &&
         count(EntityKind::kStep, EntityStatus::kRunning) == stored.steps_running &&
         count(EntityKind::kStep, EntityStatus::kSuccess) == stored.steps_succeeded &&
         count(EntityKind::kStep, EntityStatus::kFailed) == stored.steps_failed &&
         count(EntityKind::kStep, EntityStatus::kSkipped) == stored.steps_skipped &&
         count(EntityKind::kHook, EntityStatus::kActive) == stored.hooks_active &&
         count(EntityKind::kWait, EntityStatus::kWaiting) == stored.waits_open &&
         count(EntityKind::kError, EntityStatus::kOpen) +
                 count(EntityKind::kError, EntityStatus::kUnrecoverable) ==
             stored.errors_open;
}

bool SameThing(const ReferenceLog::Thing& model, const EntityState& stored) {
  return model.status == stored.status && model.attempt == stored.logical_attempt &&
         model.engine_attempt == stored.engine_attempt && model.starts == stored.starts &&
         model.will_retry == stored.will_retry && model.token == stored.token;
}

void CompareRun(const RunId& run_id, const ReferenceLog::Run& model, const StoredLog::Run& stored,
                Findings& findings) {
  const std::size_t events = std::min(model.events.size(), stored.events.size());
  for (std::size_t i = 0; i < events; ++i) {
    if (SameEvent(model.events[i], stored.events[i])) continue;
    findings.push_back(At(run_id, EventSeq(i + 1)) + " differs from the event of the reference (" +
                       std::string(SpecOf(model.events[i].type).name) + ")");
  }
  if (model.events.size() != stored.events.size()) {
    findings.push_back(run_id.value() + " has " + std::to_string(stored.events.size()) +
                       " events, the reference has " + std::to_string(model.events.size()));
  }
  if (!SameRow(model, stored.row.state)) {
    findings.push_back(run_id.value() + " has a different state than in the reference");
  }
  if (model.things.size() != stored.entities.size()) {
    findings.push_back(run_id.value() + " has different entities than in the reference");
  }
  for (const auto& [key, thing] : model.things) {
    const auto found = stored.entities.find(key);
    if (found != stored.entities.end() && SameThing(thing, found->second)) continue;
    findings.push_back(run_id.value() + ": " + std::string(Name(key.kind)) + " " + key.id +
                       " has a different state than in the reference");
  }
}

}  // namespace

Result<StoredLog> ReadStoredLog(StateStore& store) {
  StoredLog log;
  const Status visited = store.VisitRuns([&](const StoredRun& row) -> Status {
    StoredLog::Run run{row, {}, {}};
    const auto reader = store.Read();
    EventQuery query;
    query.limit = query.bytes_max = SIZE_MAX;
    auto events = reader->ReadEvents(row, query);
    if (!events) return std::move(events).error();
    run.events = std::move(*events);
    const Status read = reader->VisitEntities(
        row.run_no, std::nullopt,
        [&](EntityKey key, EntityState state) { run.entities.emplace(std::move(key), state); });
    if (!read) return read;
    log.runs.emplace(row.run_id, std::move(run));
    return Ok();
  });
  if (!visited) return visited.error();
  auto outbox = store.Read()->ReadOutbox(Position(), SIZE_MAX);
  if (!outbox) return std::move(outbox).error();
  log.outbox = std::move(*outbox);
  return log;
}

Findings CheckAcknowledged(const StoredLog& log, const AnswerBook& book,
                           const ReferenceLog& reference) {
  return CheckMarks(log, book, {Answer::kPlaced}, [&](const Attempt& attempt, std::size_t there) {
    const RunId& run_id = attempt.order.run_id;
    const ReferenceLog::Run* model = reference.Find(run_id);
    const bool purged = model == nullptr || model->incarnation != attempt.expected.incarnation;
    if (purged) return there == 0 ? std::string() : std::string("outlived its run");
    const auto run = log.runs.find(run_id);
    const std::size_t seq = attempt.placed->seq.value();
    if (run == log.runs.end() || run->second.events.size() < seq) {
      return std::string("was acknowledged but is lost");
    }
    const Event& event = run->second.events[seq - 1];
    if (event.event_id != attempt.placed->event_id ||
        event.persisted_at != attempt.placed->persisted_at) {
      return std::string("was acknowledged but another event is in its place");
    }
    if (there != attempt.expected.new_events) {
      return "was acknowledged with " + std::to_string(attempt.expected.new_events) + " events";
    }
    return std::string();
  });
}

Findings CheckRefused(const StoredLog& log, const AnswerBook& book) {
  return CheckMarks(log, book, {Answer::kRefused, Answer::kNotWritten},
                    [](const Attempt&, std::size_t there) {
                      return std::string(there == 0 ? "" : "was refused but exists");
                    });
}

Findings CheckWholeOrNothing(const StoredLog& log, const AnswerBook& book) {
  return CheckMarks(log, book, {Answer::kNothing, Answer::kIndeterminate},
                    [](const Attempt& attempt, std::size_t there) {
                      const bool whole = there == 0 || there == attempt.expected.new_events;
                      return std::string(whole ? "" : "exists only in part");
                    });
}

Findings CheckIdentities(const StoredLog& log, AnswerBook& book, const ReferenceLog& reference) {
  Findings findings;
  for (const auto& [run_id, run] : log.runs) {
    const ReferenceLog::Run* model = reference.Find(run_id);
    if (model == nullptr) continue;
    for (const Event& event : run.events) {
      const Placed placed{event.event_id, event.seq, event.persisted_at, false, false};
      if (book.Identify(run_id, model->incarnation, placed)) continue;
      findings.push_back(At(run_id, event.seq) + " has changed its id or its time");
    }
  }
  return findings;
}

Findings CheckContiguous(const StoredLog& log) {
  Findings findings;
  for (const auto& [run_id, run] : log.runs) {
    EventSeq last;
    for (const Event& event : run.events) {
      if (event.seq != Next(last)) findings.push_back(At(run_id, event.seq) + " follows a gap");
      last = event.seq;
    }
    if (last != run.row.state.last_seq) {
      findings.push_back(At(run_id, last) + " is the last event, but its row says otherwise");
    }
  }
  return findings;
}

Findings CheckTimes(const StoredLog& log) {
  Findings findings;
  for (const auto& [run_id, run] : log.runs) {
    Timestamp last{};
    for (const Event& event : run.events) {
      if (event.persisted_at < last) {
        findings.push_back(At(run_id, event.seq) + " was persisted before the preceding event");
      }
      last = event.persisted_at;
    }
  }
  Timestamp last{};
  for (const OutboxEntry& entry : log.outbox) {
    if (entry.committed_at < last) {
      findings.push_back("position " + std::to_string(entry.position.value()) +
                         " was committed before the preceding position");
    }
    last = entry.committed_at;
  }
  return findings;
}

Findings CheckTokens(const StoredLog& log, StateStore& store) {
  Findings findings;
  std::map<std::pair<std::string, std::string>, HookHolder> holders;
  for (const auto& [run_id, run] : log.runs) {
    const std::string& tenant_id = run.row.state.scope.tenant_id;
    for (const auto& [key, state] : run.entities) {
      if (key.kind != EntityKind::kHook || state.status != EntityStatus::kActive) continue;
      const HookHolder holder{run_id, key.id};
      if (!holders.emplace(std::pair(tenant_id, state.token), holder).second) {
        findings.push_back("token " + state.token + " has two active hooks");
      }
      const auto found = store.Read()->FindHook(tenant_id, state.token);
      if (!found || *found != holder) {
        findings.push_back("token " + state.token + " does not lead to its hook in " +
                           run_id.value());
      }
    }
  }
  return findings;
}

Findings CheckAgainstReference(const StoredLog& log, const ReferenceLog& reference) {
  Findings findings;
  for (const auto& [run_id, model] : reference.runs()) {
    const auto stored = log.runs.find(run_id);
    if (stored == log.runs.end()) {
      findings.push_back(run_id.value() + " exists only in the reference");
      continue;
    }
    CompareRun(run_id, *model, stored->second, findings);
  }
  for (const auto& [run_id, run] : log.runs) {
    if (reference.Find(run_id) == nullptr) {
      findings.push_back(run_id.value() + " does not exist in the reference");
    }
  }
  return findings;
}

Findings CheckTombstones(StateStore& store, const AnswerBook& book, const ReferenceLog& reference) {
  Findings findings;
  std::set<RunId> runs;
  for (const Attempt& attempt : book.attempts()) runs.insert(attempt.order.run_id);
  const auto reader = store.Read();
  for (const RunId& run_id : runs) {
    const auto model = reference.tombstones().find(run_id);
    const auto stored = reader->FindTombstone(run_id);
    const bool expected = model != reference.tombstones().end();
    const bool same = stored && stored->has_value() == expected &&
                      (!expected || (*stored)->removed_at == model->second);
    if (same) continue;
    findings.push_back(run_id.value() +
                       (expected ? " has no tombstone" : " has an unexpected tombstone"));
  }
  return findings;
}

Findings CheckVerified(StateStore& store) {
  const auto report = VerifyStore(store, {});
  if (!report) return {"verify: " + ToString(report.error())};
  Findings findings;
  for (const VerifyReport::Finding& finding : report->findings) {
    findings.push_back("verify: " + finding.run_id + ": " + finding.what);
  }
  return findings;
}

}  // namespace everstep
