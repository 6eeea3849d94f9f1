#include <gtest/gtest.h>

#include <array>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "event/catalogue.h"
#include "machine/machine.h"

// Tests every event in every state. The tables contain the expected outcomes. They were written by
// hand from the rules and are used by this test only.
//
// A line has: the event, the status of the run, the attempt of the event (relative to the entity's
// attempt, or to the number of pauses for RunPaused and RunResumed), whether the event has the flag
// of its kind (revisit of a step, escalation of a signal), and one outcome for each entity status
// in the table's first line; "other" is any status not listed there. An outcome in upper case is
// the status after an accepted event; a word in lower case is a rejection (kRefusals). Alternatives
// are separated by '/', and some sets have a name (kSets). Exactly one line must match each
// combination.

namespace everstep {
namespace {

const std::map<std::string, ErrorCode, std::less<>> kRefusals = {
    {"norun", ErrorCode::kRunNotFound},      {"exists", ErrorCode::kRunAlreadyExists},
    {"early", ErrorCode::kRunNotStarted},    {"paused", ErrorCode::kRunPaused},
    {"ended", ErrorCode::kRunTerminal},      {"bad", ErrorCode::kInvalidTransition},
    {"nostep", ErrorCode::kStepNotFound},    {"stepend", ErrorCode::kStepTerminal},
    {"stale", ErrorCode::kStepAttemptStale}, {"nohook", ErrorCode::kHookNotFound},
    {"hookend", ErrorCode::kHookTerminal},   {"nowait", ErrorCode::kWaitNotFound},
    {"waitend", ErrorCode::kWaitTerminal},   {"twice", ErrorCode::kSignalDuplicate},
    {"notopen", ErrorCode::kErrorNotOpen},   {"nochild", ErrorCode::kChildNotFound},
    {"childend", ErrorCode::kChildTerminal},
};

const std::map<std::string, std::string_view, std::less<>> kSets = {
    {"unstarted", "PENDING/APPROVED"},        {"started", "RUNNING/PAUSED"},
    {"unpaused", "PENDING/APPROVED/RUNNING"}, {"live", "PENDING/APPROVED/RUNNING/PAUSED"},
    {"over", "COMPLETED/FAILED/CANCELLED"},
};

constexpr std::string_view kRunTable = R"(
event        run                     attempt          flag | other
RunQueued    ABSENT                  any              any  | PENDING
RunQueued    live                    any              any  | exists
RunQueued    over                    any              any  | ended
RunApproved  ABSENT/PENDING          any              any  | APPROVED
RunApproved  APPROVED/RUNNING/PAUSED any              any  | bad
RunApproved  over                    any              any  | ended
RunStarted   ABSENT/PENDING/APPROVED any              any  | RUNNING
RunStarted   started                 any              any  | bad
RunStarted   over                    any              any  | ended
RunPaused    ABSENT                  any              any  | norun
RunPaused    PENDING/APPROVED/PAUSED any              any  | bad
RunPaused    RUNNING                 next             any  | PAUSED
RunPaused    RUNNING                 below/same/later any  | bad
RunPaused    over                    any              any  | ended
RunResumed   ABSENT                  any              any  | norun
RunResumed   unpaused                any              any  | bad
RunResumed   PAUSED                  same             any  | RUNNING
RunResumed   PAUSED                  below/next/later any  | bad
RunResumed   over                    any              any  | ended
RunCompleted ABSENT                  any              any  | norun
RunCompleted unstarted               any              any  | early
RunCompleted RUNNING                 any              any  | COMPLETED
RunCompleted PAUSED                  any              any  | paused
RunCompleted over                    any              any  | ended
RunFailed    ABSENT                  any              any  | norun
RunFailed    live                    any              any  | FAILED
RunFailed    over                    any              any  | ended
RunCancelled ABSENT                  any              any  | norun
RunCancelled live                    any              any  | CANCELLED
RunCancelled over                    any              any  | ended
)";

constexpr std::string_view kStepTable = R"(
event         run       attempt    flag | ABSENT  PENDING RUNNING SUCCESS FAILED  SKIPPED other
StepScheduled ABSENT    any        any  | norun   norun   norun   norun   norun   norun   norun
StepScheduled unpaused  below      any  | PENDING stale   stale   stale   stale   stale   stale
StepScheduled unpaused  same       any  | PENDING bad     bad     stepend stepend stepend bad
StepScheduled unpaused  next       no   | PENDING bad     bad     stepend PENDING stepend bad
StepScheduled unpaused  next       yes  | PENDING bad     bad     PENDING PENDING PENDING bad
StepScheduled unpaused  later      any  | PENDING bad     bad     stepend bad     stepend bad
StepScheduled PAUSED    any        any  | paused  paused  paused  paused  paused  paused  paused
StepScheduled over      any        any  | ended   ended   ended   ended   ended   ended   ended

StepStarted   ABSENT    any        any  | norun   norun   norun   norun   norun   norun   norun
StepStarted   unstarted any        any  | early   early   early   early   early   early   early
StepStarted   RUNNING   below      any  | RUNNING stale   stale   stale   stale   stale   stale
StepStarted   RUNNING   same       any  | RUNNING RUNNING RUNNING stepend stepend stepend bad
StepStarted   RUNNING   next       no   | RUNNING bad     bad     stepend RUNNING stepend bad
StepStarted   RUNNING   next       yes  | RUNNING bad     bad     RUNNING RUNNING RUNNING bad
StepStarted   RUNNING   later      any  | RUNNING bad     bad     stepend bad     stepend bad
StepStarted   PAUSED    below      no   | paused  stale   stale   stale   paused  stale   stale
StepStarted   PAUSED    same       no   | paused  RUNNING RUNNING stepend paused  stepend bad
StepStarted   PAUSED    next/later no   | paused  bad     bad     stepend paused  stepend bad
StepStarted   PAUSED    below      yes  | paused  stale   stale   paused  paused  paused  stale
StepStarted   PAUSED    same       yes  | paused  RUNNING RUNNING paused  paused  paused  bad
StepStarted   PAUSED    next/later yes  | paused  bad     bad     paused  paused  paused  bad
StepStarted   over      any        any  | ended   ended   ended   ended   ended   ended   ended

StepCompleted ABSENT    any        any  | norun   norun   norun   norun   norun   norun   norun
StepCompleted unstarted any        any  | early   early   early   early   early   early   early
StepCompleted started   below      any  | nostep  stale   stale   stale   stale   stale   stale
StepCompleted started   same       any  | nostep  SUCCESS SUCCESS stepend stepend stepend bad
StepCompleted started   next/later any  | nostep  bad     bad     stepend bad     stepend bad
StepCompleted over      below      any  | ended   ended   stale   ended   ended   ended   ended
StepCompleted over      same       any  | ended   ended   SUCCESS ended   ended   ended   ended
StepCompleted over      next/later any  | ended   ended   bad     ended   ended   ended   ended

StepFailed    ABSENT    any        any  | norun   norun   norun   norun   norun   norun   norun
StepFailed    unstarted any        any  | early   early   early   early   early   early   early
StepFailed    started   below      any  | nostep  stale   stale   stale   stale   stale   stale
StepFailed    started   same       any  | nostep  FAILED  FAILED  stepend stepend stepend bad
StepFailed    started   next/later any  | nostep  bad     bad     stepend bad     stepend bad
StepFailed    over      below      any  | ended   ended   stale   ended   ended   ended   ended
StepFailed    over      same       any  | ended   ended   FAILED  ended   ended   ended   ended
StepFailed    over      next/later any  | ended   ended   bad     ended   ended   ended   ended

StepSkipped   ABSENT    any        any  | norun   norun   norun   norun   norun   norun   norun
StepSkipped   live      below      any  | SKIPPED stale   stale   stale   stale   stale   stale
StepSkipped   live      same       any  | SKIPPED SKIPPED bad     stepend stepend stepend bad
StepSkipped   live      next       any  | SKIPPED bad     bad     stepend SKIPPED stepend bad
StepSkipped   live      later      any  | SKIPPED bad     bad     stepend bad     stepend bad
StepSkipped   over      any        any  | ended   ended   ended   ended   ended   ended   ended

StepDelayed   ABSENT    any        any  | norun   norun   norun   norun   norun   norun   norun
StepDelayed   unpaused  below      any  | PENDING stale   stale   stale   stale   stale   stale
StepDelayed   unpaused  same       any  | PENDING PENDING bad     stepend stepend stepend bad
StepDelayed   unpaused  next/later any  | PENDING bad     bad     stepend bad     stepend bad
StepDelayed   PAUSED    any        any  | paused  paused  paused  paused  paused  paused  paused
StepDelayed   over      any        any  | ended   ended   ended   ended   ended   ended   ended
)";

constexpr std::string_view kHookTable = R"(
event        run    attempt flag | ABSENT     ACTIVE   DISPOSED CONFLICTED other
HookCreated  ABSENT any     any  | norun      norun    norun    norun      norun
HookCreated  live   any     any  | ACTIVE     bad      hookend  hookend    bad
HookCreated  over   any     any  | ended      ended    ended    ended      ended
HookConflict ABSENT any     any  | norun      norun    norun    norun      norun
HookConflict live   any     any  | CONFLICTED bad      hookend  hookend    bad
HookConflict over   any     any  | ended      ended    ended    ended      ended
HookReceived ABSENT any     any  | norun      norun    norun    norun      norun
HookReceived live   any     any  | nohook     ACTIVE   hookend  hookend    bad
HookReceived over   any     any  | ended      ended    ended    ended      ended
HookDisposed ABSENT any     any  | norun      norun    norun    norun      norun
HookDisposed live   any     any  | nohook     DISPOSED hookend  hookend    bad
HookDisposed over   any     any  | ended      ended    ended    ended      ended
)";

constexpr std::string_view kWaitTable = R"(
event         run    attempt flag | ABSENT  WAITING ELAPSED CANCELLED other
WaitCreated   ABSENT any     any  | norun   norun   norun   norun     norun
WaitCreated   live   any     any  | WAITING bad     waitend waitend   bad
WaitCreated   over   any     any  | ended   ended   ended   ended     ended
WaitCompleted ABSENT any     any  | norun   norun   norun   norun     norun
WaitCompleted live   any     any  | nowait  ELAPSED waitend waitend   bad
WaitCompleted over   any     any  | ended   ended   ended   ended     ended
)";

constexpr std::string_view kSignalTable = R"(
event          run    attempt flag | ABSENT   other
SignalAccepted ABSENT any     any  | norun    norun
SignalAccepted live   any     any  | ACCEPTED twice
SignalAccepted over   any     no   | ended    ended
SignalAccepted over   any     yes  | ACCEPTED twice
SignalRejected ABSENT any     any  | norun    norun
SignalRejected live   any     any  | REJECTED twice
SignalRejected over   any     any  | REJECTED twice
)";

constexpr std::string_view kErrorTable = R"(
event              run       attempt flag | OPEN          UNRECOVERABLE other
ErrorRecorded      ABSENT    any     any  | norun         norun         norun
ErrorRecorded      live/over any     any  | OPEN          OPEN          OPEN
ErrorResolved      ABSENT    any     any  | norun         norun         norun
ErrorResolved      live/over any     any  | CLOSED        CLOSED        notopen
ErrorUnrecoverable ABSENT    any     any  | norun         norun         norun
ErrorUnrecoverable live/over any     any  | UNRECOVERABLE notopen       notopen
)";

constexpr std::string_view kChildTable = R"(
event         run    attempt flag | ABSENT  RUNNING CLOSED   other
ChildStarted  ABSENT any     any  | norun   norun   norun    norun
ChildStarted  live   any     any  | RUNNING bad     childend bad
ChildStarted  over   any     any  | ended   ended   ended    ended
ChildFinished ABSENT any     any  | norun   norun   norun    norun
ChildFinished live   any     any  | nochild CLOSED  childend bad
ChildFinished over   any     any  | ended   CLOSED  ended    ended
)";

constexpr std::string_view kBookkeepingTable = R"(
event                                        run       attempt flag | OPEN   other
ToolStarted/LoopStarted/LoopIterationStarted ABSENT    any     any  | norun  norun
ToolStarted/LoopStarted/LoopIterationStarted unstarted any     any  | early  early
ToolStarted/LoopStarted/LoopIterationStarted started   any     any  | OPEN   OPEN
ToolStarted/LoopStarted/LoopIterationStarted over      any     any  | ended  ended
CaseStarted/RetryStarted/SinkStarted         ABSENT    any     any  | norun  norun
CaseStarted/RetryStarted/SinkStarted         unstarted any     any  | early  early
CaseStarted/RetryStarted/SinkStarted         started   any     any  | OPEN   OPEN
CaseStarted/RetryStarted/SinkStarted         over      any     any  | ended  ended
ToolProcessed/LoopFinished                   ABSENT    any     any  | norun  norun
ToolProcessed/LoopFinished                   unstarted any     any  | early  early
ToolProcessed/LoopFinished                   started   any     any  | CLOSED CLOSED
ToolProcessed/LoopFinished                   over      any     any  | CLOSED ended
LoopIterationFinished/CaseEvaluated          ABSENT    any     any  | norun  norun
LoopIterationFinished/CaseEvaluated          unstarted any     any  | early  early
LoopIterationFinished/CaseEvaluated          started   any     any  | CLOSED CLOSED
LoopIterationFinished/CaseEvaluated          over      any     any  | CLOSED ended
RetryProcessed/SinkProcessed                 ABSENT    any     any  | norun  norun
RetryProcessed/SinkProcessed                 unstarted any     any  | early  early
RetryProcessed/SinkProcessed                 started   any     any  | CLOSED CLOSED
RetryProcessed/SinkProcessed                 over      any     any  | CLOSED ended
NextEvaluated/ContextUpdated                 ABSENT    any     any  | norun  norun
NextEvaluated/ContextUpdated                 unstarted any     any  | early  early
NextEvaluated/ContextUpdated                 started   any     any  | CLOSED CLOSED
NextEvaluated/ContextUpdated                 over      any     any  | ended  ended
)";

constexpr std::array kTables = {kRunTable,    kStepTable,  kHookTable,  kWaitTable,
                                kSignalTable, kErrorTable, kChildTable, kBookkeepingTable};

// Returns true if `one` is among `alternatives` ("a/b/c"), or in a set named there.
bool Offers(std::string_view alternatives, std::string_view one) {
  if (alternatives == "any") return true;
  std::istringstream words{std::string(alternatives)};
  for (std::string word; std::getline(words, word, '/');) {
    if (word == one) return true;
    const auto set = kSets.find(word);
    if (set != kSets.end() && Offers(set->second, one)) return true;
  }
  return false;
}

struct Line {
  std::string events, runs, attempts, flags;
  std::map<std::string, std::string, std::less<>> outcomes;  // by status, or "other"
};

std::vector<Line> ReadTables() {
  std::vector<Line> lines;
  for (const std::string_view table : kTables) {
    std::vector<std::string> columns;
    std::istringstream text{std::string(table)};
    for (std::string row; std::getline(text, row);) {
      std::istringstream words(row);
      Line line;
      std::string bar;
      if (!(words >> line.events >> line.runs >> line.attempts >> line.flags >> bar)) continue;
      std::vector<std::string> cells;
      for (std::string cell; words >> cell;) cells.push_back(cell);
      if (line.events == "event") {
        columns = cells;
        continue;
      }
      EXPECT_EQ(bar, "|") << row;
      EXPECT_EQ(cells.size(), columns.size()) << row;
      for (std::size_t i = 0; i < cells.size(); ++i) line.outcomes[columns[i]] = cells[i];
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

struct Combination {
  EventType type;
  RunStatus run;
  EntityStatus entity;
  std::string_view attempt;  // below, same, next, later
  bool flag;

  std::string ToString() const {
    std::ostringstream text;
    text << SpecOf(type).name << " on run " << Name(run) << ", entity " << Name(entity)
         << ", attempt " << attempt << ", flag " << (flag ? "yes" : "no");
    return text.str();
  }
};

constexpr std::uint32_t kCurrentAttempt = 2;
constexpr std::array<std::string_view, 4> kAttempts = {"below", "same", "next", "later"};

// The machine's outcome: the status after the event, or the name of the error code.
std::string Actual(const Combination& c) {
  RunState run;
  run.status = c.run;
  run.pause_epoch = kCurrentAttempt;
  EntityState entity;
  entity.status = c.entity;
  if (c.entity != EntityStatus::kAbsent) {
    entity.logical_attempt = kCurrentAttempt;
    entity.engine_attempt = 1;
    entity.occurrences = 1;
    entity.starts = c.entity == EntityStatus::kOpen ? 1 : 0;
  }
  Event event;
  event.type = c.type;
  event.entity_id = "x";
  event.seq = EventSeq(7);
  for (std::uint32_t i = 0; i < kAttempts.size(); ++i) {
    if (kAttempts[i] == c.attempt) event.logical_attempt = kCurrentAttempt - 1 + i;
  }
  event.facts.revisit = c.flag;
  event.facts.escalation = c.flag;
  if (const auto refused = Judge(run, entity, event)) return std::string(Name(refused->code));
  Evolve(run, entity, event);
  return std::string(EntityOf(c.type, "x") ? Name(entity.status) : Name(run.status));
}

// The outcome according to the tables. Returns an error text unless exactly one line matches.
std::string Expected(const std::vector<const Line*>& lines_of_event, const Combination& c) {
  std::vector<std::string> found;
  for (const Line* line : lines_of_event) {
    if (!Offers(line->runs, Name(c.run)) || !Offers(line->attempts, c.attempt) ||
        !Offers(line->flags, c.flag ? "yes" : "no")) {
      continue;
    }
    const auto named = line->outcomes.find(Name(c.entity));
    const std::string& word =
        named != line->outcomes.end() ? named->second : line->outcomes.at("other");
    const auto refusal = kRefusals.find(word);
    found.push_back(refusal == kRefusals.end() ? word : std::string(Name(refusal->second)));
  }
  if (found.size() == 1) return found.front();
  return std::to_string(found.size()) + " lines of the tables match";
}

TEST(MachineTable, EveryEventAgainstEveryState) {
  const std::vector<Line> lines = ReadTables();
  std::size_t checked = 0;
  std::size_t wrong = 0;
  for (int number = 1; number <= kEventTypeCount; ++number) {
    const auto type = static_cast<EventType>(number);
    std::vector<const Line*> lines_of_event;
    for (const Line& line : lines) {
      if (Offers(line.events, SpecOf(type).name)) lines_of_event.push_back(&line);
    }
    for (int run = 0; run <= static_cast<int>(RunStatus::kCancelled); ++run) {
      for (int entity = 0; entity <= static_cast<int>(EntityStatus::kUnrecoverable); ++entity) {
        for (const std::string_view attempt : kAttempts) {
          for (const bool flag : {false, true}) {
            const Combination c{type, static_cast<RunStatus>(run),
                                static_cast<EntityStatus>(entity), attempt, flag};
            ++checked;
            if (Actual(c) == Expected(lines_of_event, c)) continue;
            if (++wrong > 20) continue;  // report only the first few
            EXPECT_EQ(Actual(c), Expected(lines_of_event, c)) << c.ToString();
          }
        }
      }
    }
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(checked, 41u * 8 * 17 * 4 * 2);
}

}  // namespace
}  // namespace everstep
