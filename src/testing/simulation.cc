#include "testing/simulation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "store/keyed_store.h"
#include "testing/answer_book.h"
#include "testing/log_checks.h"
#include "testing/random_orders.h"
#include "testing/reference_log.h"
#include "testing/simulated_log.h"

namespace everstep {
namespace {

constexpr std::size_t kAppenders = 6;
constexpr std::size_t kOrdersPerCallMax = 3;

class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options);
  SimulationReport Run();

 private:
  // An appender sends some orders in one call and then waits for the answers.
  struct Call {
    AppendAuthority::Submission submission;
    std::vector<std::size_t> attempts;
    std::uint64_t sent = 0;  // number of calls sent before
    bool written = false;    // its write, if any, was made
  };

  void Step();
  void Appender(std::optional<Call>& call);
  void Send(std::optional<Call>& call);
  AppendOrder NextOrder();
  void Await(std::optional<Call>& call);
  void AwaitUnwritten();
  std::optional<Call>* OldestUnwritten();
  void OnWrite(const Status& outcome);
  void Count(const Attempt& attempt);
  void MoveClock();
  void PlanFault();
  void Purge();
  void Crash();
  void Check(const MemoryTables& tables);
  void Open();
  void EndAllRuns();
  void Say(const std::string& what);
  void Find(const std::string& what, const Findings& findings);
  bool failed() const { return !report_.findings.empty(); }

  const SimulationOptions options_;
  SimulationReport report_;
  SeededRandom random_;
  RandomOrders orders_{random_};
  SimulatedLog log_;
  AnswerBook book_;
  std::vector<std::optional<Call>> calls_{kAppenders};
  std::uint64_t calls_sent_ = 0;
  std::vector<std::size_t> to_repeat_;  // attempts whose senders got no answer

  // The durable log, the log once everything decided becomes durable, and the log if the write of
  // unknown outcome became durable.
  ReferenceLog durable_;
  ReferenceLog live_;
  std::optional<ReferenceLog> doubtful_;
  bool stopped_ = false;
  bool purging_ = false;
  std::uint64_t full_writes_ = 0;  // remaining
};

Simulation::Simulation(const SimulationOptions& options)
    : options_(options),
      random_(options.seed),
      log_(options.seed, options.bug, [this](const Status& outcome) { OnWrite(outcome); }) {}

SimulationReport Simulation::Run() {
  Open();
  for (std::uint64_t step = 0; step < options_.steps && !failed(); ++step) Step();
  if (!failed()) Crash();
  if (!failed()) EndAllRuns();
  if (!failed()) Crash();
  return std::move(report_);
}

void Simulation::Step() {
  if (stopped_ && random_.OneIn(8)) return Crash();
  if (full_writes_ > 0 && !log_.disk().FaultPlanned()) {
    --full_writes_;
    log_.disk().PlanFault(WriteFault::kDiskFull);
  }
  const std::uint64_t draw = random_.Below(200);
  if (draw < 174) return Appender(calls_[random_.Below(kAppenders)]);
  if (draw < 186) return MoveClock();
  if (draw < 193) return PlanFault();
  if (draw < 198) return Purge();
  Crash();
}

void Simulation::Appender(std::optional<Call>& call) {
  if (!call) return Send(call);
  // The first in the queue writes for all; the others must wait for it.
  Await(call->written ? call : *OldestUnwritten());
}

void Simulation::Send(std::optional<Call>& call) {
  std::vector<AppendOrder> orders;
  std::vector<std::size_t> attempts;
  const std::uint64_t count = random_.OneIn(3) ? 1 + random_.Below(kOrdersPerCallMax) : 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    attempts.push_back(book_.Send(NextOrder()));
    Attempt& attempt = book_.attempt(attempts.back());
    if (stopped_) {
      attempt.expected.refused = ErrorCode::kStoreStopped;
    } else {
      attempt.expected = live_.Append(attempt.order, RandomOrderDefaults());
      attempt.founded = IsFounded(attempt.expected, attempt.order.run_id, durable_);
    }
    orders.push_back(attempt.order);
    if (options_.trace) {
      Say("sends " + std::to_string(attempts.back()) + ", " + Describe(attempt.order));
    }
  }
  report_.counts.orders += orders.size();
  call = Call{log_.authority().Submit(orders, RandomOrderDefaults()), std::move(attempts),
              calls_sent_++, false};
}

AppendOrder Simulation::NextOrder() {
  const std::uint64_t moment = book_.attempts().size();
  if (!to_repeat_.empty() && random_.OneIn(3)) {
    const std::size_t at = random_.Below(to_repeat_.size());
    const AppendOrder order = book_.attempt(to_repeat_[at]).order;
    to_repeat_.erase(to_repeat_.begin() + static_cast<std::ptrdiff_t>(at));
    return order;
  }
  AppendOrder order = orders_.Next(moment);
  if (moment == 0 || !random_.OneIn(4)) return order;
  // Repeats an earlier order, usually a recent one, unchanged or among new events of its run.
  const std::uint64_t back = random_.OneIn(4) ? moment : std::min<std::uint64_t>(moment, 20);
  const AppendOrder& earlier = book_.attempt(moment - 1 - random_.Below(back)).order;
  if (!random_.OneIn(3)) return earlier;
  order.run_id = earlier.run_id;
  for (EventWrite& write : order.events) {
    write.run_id = earlier.run_id;
    write.scope = earlier.events.front().scope;
  }
  const auto at = static_cast<std::ptrdiff_t>(random_.Below(order.events.size() + 1));
  order.events.insert(order.events.begin() + at, earlier.events.begin(), earlier.events.end());
  return order;
}

void Simulation::Await(std::optional<Call>& call) {
  const std::vector<Result<Placed>> answers = log_.authority().Await(std::move(call->submission));
  for (std::size_t i = 0; i < answers.size() && !failed(); ++i) {
    const std::size_t number = call->attempts[i];
    const std::string wrong = TakeAnswer(book_, number, answers[i]);
    const Attempt& attempt = book_.attempt(number);
    if (options_.trace) {
      Say("is answered " + std::to_string(number) + ": " +
          (answers[i] ? "runSeq " + std::to_string(answers[i]->seq.value()) +
                            (answers[i]->duplicate ? ", a duplicate" : "")
                      : ToString(answers[i].error())));
    }
    Count(attempt);
    if (attempt.answer == Attempt::Answer::kIndeterminate ||
        attempt.answer == Attempt::Answer::kNotWritten) {
      to_repeat_.push_back(number);
    }
    if (!wrong.empty()) Find("answer", {"order " + std::to_string(number) + " " + wrong});
  }
  call.reset();
}

void Simulation::Count(const Attempt& attempt) {
  SimulationCounts& counts = report_.counts;
  switch (attempt.answer) {
    case Attempt::Answer::kPlaced:
      counts.events += attempt.expected.new_events;
      counts.duplicates += attempt.placed->duplicate ? 1 : 0;
      break;
    case Attempt::Answer::kRefused:
      ++counts.refused;
      break;
    case Attempt::Answer::kNotWritten:
      ++(attempt.excused == ErrorCode::kStoreFull ? counts.store_full : counts.store_stopped);
      break;
    case Attempt::Answer::kIndeterminate:
      ++counts.indeterminate;
      break;
    case Attempt::Answer::kNothing:
      ++counts.unanswered;
      break;
  }
}

std::optional<Simulation::Call>* Simulation::OldestUnwritten() {
  std::optional<Call>* oldest = nullptr;
  for (std::optional<Call>& call : calls_) {
    if (!call || call->written) continue;
    if (oldest == nullptr || call->sent < (*oldest)->sent) oldest = &call;
  }
  return oldest;
}

void Simulation::AwaitUnwritten() {
  while (std::optional<Call>* call = OldestUnwritten()) Await(*call);
}

// One write covers everything queued, so it settles every waiting call.
void Simulation::OnWrite(const Status& outcome) {
  if (options_.trace)
    Say(outcome ? "a write is durable" : "a write fails: " + ToString(outcome.error()));
  if (purging_) return;
  for (std::optional<Call>& call : calls_) {
    if (!call || call->written) continue;
    call->written = true;
    for (const std::size_t number : call->attempts) {
      Attempt& attempt = book_.attempt(number);
      if (outcome) {
        attempt.founded = true;
      } else {
        attempt.excused = outcome.error().code;
      }
    }
  }
  if (outcome) {
    durable_ = live_;
    return;
  }
  if (outcome.error().code != ErrorCode::kStoreFull) {
    stopped_ = true;
    doubtful_ = live_;
  }
  live_ = durable_;
}

void Simulation::MoveClock() {
  const auto by = std::chrono::milliseconds(random_.Below(random_.OneIn(5) ? 100'000'000 : 2000));
  if (random_.OneIn(3)) {
    log_.clock().JumpBack(by);
  } else {
    log_.clock().Advance(by);
  }
  if (options_.trace) Say("the clock is at " + FormatTimestamp(log_.clock().Now()));
}

void Simulation::PlanFault() {
  if (stopped_ || log_.disk().FaultPlanned()) return;
  constexpr WriteFault kFaults[] = {WriteFault::kDiskFull, WriteFault::kDiskFull,
                                    WriteFault::kNothingWritten, WriteFault::kWrittenAnyway,
                                    WriteFault::kSyncFails};
  const WriteFault fault = kFaults[random_.Below(std::size(kFaults))];
  log_.disk().PlanFault(fault, random_.Below(4));
  if (fault == WriteFault::kDiskFull) full_writes_ = random_.Below(5);
}

void Simulation::Purge() {
  AwaitUnwritten();
  if (stopped_ || failed()) return;
  std::vector<RunId> runs;
  for (std::uint64_t i = 0; i < 4; ++i) {
    runs.push_back(orders_.AnyRun(random_.Below(book_.attempts().size() + 1)));
  }
  const Timestamp now = log_.clock().Now();
  const Timestamp expired = now - std::chrono::seconds(random_.Below(100));
  ReferenceLog after = durable_;
  const std::size_t expected = after.Purge(runs, now, expired);
  purging_ = true;
  const auto purged = log_.authority().Purge(runs, expired);
  purging_ = false;
  if (purged) {
    durable_ = live_ = std::move(after);
    report_.counts.purged += *purged;
    if (*purged != expected)
      Find("purge",
           {"removed " + std::to_string(*purged) + " runs, not " + std::to_string(expected)});
  } else if (purged.error().code != ErrorCode::kStoreFull) {
    stopped_ = true;
    doubtful_ = std::move(after);
  }
  if (options_.trace) Say("purges " + std::to_string(expected) + " runs");
}

void Simulation::Crash() {
  if (options_.trace) Say("crash");
  ++report_.counts.crashes;
  log_.Crash();
  for (std::optional<Call>& call : calls_) {
    if (!call) continue;
    for (const std::size_t number : call->attempts) {
      Count(book_.attempt(number));
      to_repeat_.push_back(number);
    }
    call.reset();
  }
  full_writes_ = 0;
  Check(log_.survivors());
  stopped_ = false;
  if (!failed()) Open();
}

// Inspects the tables with the product's own readers, not affected by any planted bug.
void Simulation::Check(const MemoryTables& tables) {
  auto store = OpenKeyedStore(std::make_unique<MemoryKeyValue>(tables));
  if (!store) return Find("open", {ToString(store.error())});
  const auto stored = ReadStoredLog(**store);
  if (!stored) return Find("read", {ToString(stored.error())});
  if (doubtful_) {
    const bool kept = CheckAgainstReference(*stored, *doubtful_).empty() &&
                      CheckTombstones(**store, book_, *doubtful_).empty();
    ++(kept ? report_.counts.doubtful_kept : report_.counts.doubtful_lost);
    if (kept) durable_ = *doubtful_;
    doubtful_.reset();
  }
  live_ = durable_;
  Find("acknowledged", CheckAcknowledged(*stored, book_, durable_));
  Find("refused", CheckRefused(*stored, book_));
  Find("whole", CheckWholeOrNothing(*stored, book_));
  Find("identity", CheckIdentities(*stored, book_, durable_));
  Find("contiguous", CheckContiguous(*stored));
  Find("time", CheckTimes(*stored));
  Find("token", CheckTokens(*stored, **store));
  Find("reference", CheckAgainstReference(*stored, durable_));
  Find("tombstone", CheckTombstones(**store, book_, durable_));
  Find("verify", CheckVerified(**store));
}

void Simulation::Open() {
  const Status opened = log_.Open();
  if (!opened) Find("open", {ToString(opened.error())});
}

// Without faults, every run must be able to end, whatever happened to it before.
void Simulation::EndAllRuns() {
  const ReferenceLog::Runs runs = live_.runs();
  for (const auto& [run_id, run] : runs) {
    for (int turn = 0; turn < 3 && !failed(); ++turn) {
      const RunStatus status = live_.Find(run_id)->status;
      if (IsTerminal(status)) break;
      EventWrite write;
      write.run_id = run_id;
      write.type = status == RunStatus::kRunning  ? EventType::kRunCompleted
                   : status == RunStatus::kPaused ? EventType::kRunResumed
                                                  : EventType::kRunStarted;
      const std::size_t number = book_.Send({run_id, {write}});
      const AppendOrder order = book_.attempt(number).order;
      book_.attempt(number).expected = live_.Append(order, RandomOrderDefaults());
      calls_[0] = Call{log_.authority().Submit(std::span(&order, 1), RandomOrderDefaults()),
                       {number},
                       calls_sent_++,
                       false};
      Await(calls_[0]);
    }
    if (failed()) return;
    if (!IsTerminal(durable_.Find(run_id)->status)) {
      return Find("liveness", {run_id.value() + " did not end"});
    }
    ++report_.counts.runs_ended;
  }
  for (const auto& [run_id, run] : durable_.runs()) {
    report_.counts.conflicts += static_cast<std::uint64_t>(
        std::ranges::count(run->events, EventType::kHookConflict, &Event::type));
  }
}

void Simulation::Say(const std::string& what) {
  if (options_.trace) report_.trace.push_back(what);
}

void Simulation::Find(const std::string& what, const Findings& findings) {
  for (const std::string& finding : findings) report_.findings.push_back(what + ": " + finding);
}

}  // namespace

SimulationCounts& SimulationCounts::operator+=(const SimulationCounts& other) {
  orders += other.orders;
  events += other.events;
  duplicates += other.duplicates;
  refused += other.refused;
  store_full += other.store_full;
  indeterminate += other.indeterminate;
  store_stopped += other.store_stopped;
  unanswered += other.unanswered;
  crashes += other.crashes;
  doubtful_kept += other.doubtful_kept;
  doubtful_lost += other.doubtful_lost;
  purged += other.purged;
  conflicts += other.conflicts;
  runs_ended += other.runs_ended;
  return *this;
}

SimulationReport Simulate(const SimulationOptions& options) { return Simulation(options).Run(); }

std::string ReproduceCommand(const SimulationOptions& options) {
  std::string command = "everstep-simulate --seed " + std::to_string(options.seed) + " --steps " +
                        std::to_string(options.steps);
  if (options.bug != PlantedBug::kNone) command += " --bug " + std::string(Name(options.bug));
  return command;
}

}  // namespace everstep
