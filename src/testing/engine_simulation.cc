#include "testing/engine_simulation.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include "event/catalogue.h"
#include "testing/random_plan.h"
#include "testing/simulated_engine.h"
#include "testing/simulated_operators.h"

namespace everstep {
namespace {

constexpr std::uint32_t kEngineAttemptsMax = 6;
constexpr std::uint64_t kCalmTurnsMax = 4000;
constexpr std::uint64_t kLostComeBackAfter = 25;  // turns in the calm phase

EngineOptions RandomOptions(SeededRandom& random) {
  EngineOptions options;
  options.engine_attempts_max = kEngineAttemptsMax;
  options.cancel_grace = std::chrono::milliseconds(1 + random.Below(20'000));
  options.drain_timeout = std::chrono::milliseconds(1 + random.Below(60'000));
  AdmissionPolicy& admission = options.admission;
  constexpr AdmissionPolicy::Overload kOverloads[] = {AdmissionPolicy::Overload::kQueue,
                                                      AdmissionPolicy::Overload::kDelay,
                                                      AdmissionPolicy::Overload::kReject};
  admission.overload = kOverloads[random.Below(3)];
  if (random.OneIn(3))
    admission.tenant.running_max = static_cast<std::uint32_t>(1 + random.Below(3));
  if (random.OneIn(6)) admission.engine.starts_per_second = 0.5;
  options.checkpoint_events = 1 + static_cast<std::uint32_t>(options.cancel_grace.count() % 12);
  if (options.drain_timeout.count() % 3 == 0) options.memory_bytes_max = 0;
  return options;
}

std::string TextOf(const RunChange& change) {
  std::string text = change.run_id.value() + ":";
  for (const Event& event : change.events) {
    text += " " + std::to_string(event.seq.value()) + " " + std::string(SpecOf(event.type).name);
    if (!event.entity_id.empty()) text += "(" + event.entity_id + ")";
    if (!event.facts.error_code.empty()) text += " " + event.facts.error_code;
    if (event.facts.will_retry) text += " will retry";
  }
  return text;
}

class EngineSimulation {
 public:
  explicit EngineSimulation(const EngineSimulationOptions& options)
      : options_(options),
        random_(options.seed),
        worker_random_(options.seed ^ 0x3043e4),
        witness_([this](const std::string& what) { Find(what); }, kEngineAttemptsMax),
        workers_(worker_random_, WatchOfWorkers()),
        world_(options.seed, options.bug, RandomOptions(random_), workers_, witness_),
        operators_(random_, world_, witness_, options.bug,
                   [this](const std::string& what) { Say(what); }) {
    witness_.Watch(workers_);
    if (options_.trace) {
      world_.OnWrite([this](const Status& outcome, std::span<const RunChange* const> changes) {
        Say(outcome ? "a write is durable" : "a write fails: " + ToString(outcome.error()));
        for (const RunChange* change : changes) Say("  " + TextOf(*change));
      });
    }
  }

  EngineSimulationReport Run();

 private:
  SimulatedWorkers::Watch WatchOfWorkers();
  void Turn();
  void Open();
  void Crash();
  void MoveClock();
  void PlanFault();
  void Look();
  Timestamp StepEngine();
  void ComeToTheEnd();
  void CalmTurn(std::uint64_t turn);
  void CheckAllEnded();
  void Count();
  bool AllEnded() const;
  bool failed() const { return !report_.findings.empty(); }

  static std::string NameOf(const TaskId& task) {
    return task.run_id.value() + "/" + task.step_id + " attempt " +
           std::to_string(task.logical_attempt) + " delivery " +
           std::to_string(task.engine_attempt);
  }
  void Say(const std::string& what) {
    if (options_.trace) report_.trace.push_back(what);
  }
  void Find(const std::string& what) {
    report_.findings.push_back(what);
    Say("FOUND " + what);
  }

  const EngineSimulationOptions options_;
  EngineSimulationReport report_;
  SeededRandom random_;
  SeededRandom worker_random_;
  EngineWitness witness_;
  SimulatedWorkers workers_;
  SimulatedEngine world_;
  SimulatedOperators operators_;
  std::uint64_t full_writes_ = 0;  // remaining
  bool calm_ = false;
};

SimulatedWorkers::Watch EngineSimulation::WatchOfWorkers() {
  SimulatedWorkers::Watch watch;
  watch.on_task = [this](const Task& task) {
    if (options_.trace) Say("worker takes " + NameOf(task.id));
    witness_.Dispatched(task);
  };
  watch.on_take = [this](const TaskId& task) { witness_.Taken(task); };
  watch.on_report = [this](const TaskId& task) {
    if (options_.trace) Say("worker reports " + NameOf(task));
    witness_.Reported(task);
  };
  watch.on_kill = [this](const TaskId& task) {
    if (options_.trace) Say("worker of " + NameOf(task) + " is gone");
    witness_.Reported(task);
  };
  watch.on_answer = [this](const TaskId& task, const Status& status) {
    if (options_.trace) Say("report of " + NameOf(task) + " is answered");
    witness_.AnsweredReport(task, status);
  };
  watch.on_silence = [this](const TaskId& task) {
    witness_.NotAnswered("the report of " + NameOf(task));
  };
  return watch;
}

EngineSimulationReport EngineSimulation::Run() {
  Open();
  operators_.StartRun();
  for (std::uint64_t i = 0; i < options_.steps && !failed(); ++i) Turn();
  if (!failed()) ComeToTheEnd();
  if (!failed()) Crash();
  Count();
  return std::move(report_);
}

void EngineSimulation::Open() {
  std::set<std::string> missing;
  if (!calm_ && random_.OneIn(6)) missing.insert(random_.OneIn(2) ? "http" : "shell");
  const Status opened = world_.Open(missing);
  if (!opened) return Find("cannot open the engine: " + ToString(opened.error()));
  (void)StepEngine();
}

void EngineSimulation::Crash() {
  Say("crash");
  ++report_.counts.crashes;
  full_writes_ = 0;
  world_.Crash();
  if (!failed()) Open();
}

Timestamp EngineSimulation::StepEngine() {
  const Timestamp next = world_.engine().Step();
  if (!world_.write_failed() && !failed()) witness_.CheckOwed();
  return next;
}

void EngineSimulation::Turn() {
  if (world_.engine().stopped() && random_.OneIn(4)) return Crash();
  if (full_writes_ > 0 && !world_.disk().FaultPlanned()) {
    --full_writes_;
    world_.disk().PlanFault(WriteFault::kDiskFull);
  }
  const std::uint64_t draw = random_.Below(200);
  if (draw < 80) {
    (void)workers_.Act();
  } else if (draw < 120) {
    (void)StepEngine();
  } else if (draw < 146) {
    MoveClock();
  } else if (draw < 152) {
    operators_.StartRun();
  } else if (draw < 168) {
    operators_.SendSignal();
  } else if (draw < 180) {
    operators_.AnswerHook();
  } else if (draw < 183) {
    operators_.ApproveRun();
  } else if (draw < 192) {
    Look();
  } else if (draw < 197) {
    PlanFault();
  } else {
    Crash();
  }
}

void EngineSimulation::MoveClock() {
  const auto by = std::chrono::milliseconds(random_.Below(random_.OneIn(5) ? 200'000 : 3'000));
  const bool leaps = random_.OneIn(6);
  if (leaps && world_.clock_leaps()) {
    world_.Leap(by * 50);
  } else if (leaps) {
    world_.SetBack(by);
  } else {
    world_.Pass(by);
  }
  if (options_.trace) Say("the time is " + FormatTimestamp(world_.Now()));
  if (random_.OneIn(2)) (void)StepEngine();
}

void EngineSimulation::PlanFault() {
  if (world_.engine().stopped() || world_.disk().FaultPlanned()) return;
  constexpr WriteFault kFaults[] = {WriteFault::kDiskFull, WriteFault::kDiskFull,
                                    WriteFault::kNothingWritten, WriteFault::kWrittenAnyway,
                                    WriteFault::kSyncFails};
  const WriteFault fault = kFaults[random_.Below(std::size(kFaults))];
  world_.disk().PlanFault(fault, random_.Below(6));
  if (fault == WriteFault::kDiskFull) full_writes_ = random_.Below(4);
}

void EngineSimulation::Look() {
  const auto run_id = operators_.AnyRun();
  if (!run_id || world_.engine().stopped()) return;
  (void)StepEngine();
  const auto view = world_.engine().View(run_id->value());
  if (world_.engine().stopped()) return;
  if (!view) return Find("cannot view " + run_id->value() + ": " + ToString(view.error()));
  witness_.CheckView(*view);
  // A full disk blocks any run for a while; the run itself does not know of it.
  if (world_.write_failed()) return;
  const auto why = world_.engine().Why(run_id->value());
  if (world_.engine().stopped() || world_.write_failed()) return;
  if (!why) return Find("cannot explain " + run_id->value() + ": " + ToString(why.error()));
  witness_.CheckWhy(*why);
}

// ---- the calm phase, without faults

bool EngineSimulation::AllEnded() const {
  return std::ranges::all_of(witness_.runs(),
                             [](const auto& entry) { return IsTerminal(entry.second->status()); });
}

void EngineSimulation::ComeToTheEnd() {
  Say("faults stop");
  calm_ = true;
  workers_.SetCalm(true);
  full_writes_ = 0;
  Crash();
  for (std::uint64_t turn = 0; turn < kCalmTurnsMax && !failed(); ++turn) {
    if (AllEnded()) break;
    CalmTurn(turn);
  }
  if (!failed()) CheckAllEnded();
}

void EngineSimulation::CalmTurn(std::uint64_t turn) {
  const Timestamp next = StepEngine();
  if (failed()) return;
  const std::size_t finished = workers_.FinishAll(turn % kLostComeBackAfter == 0);
  operators_.LetGo();
  if (finished > 0 || failed()) return;
  Look();
  const Timestamp now = world_.Now();
  if (next > now) {
    world_.Pass(next - now);
    if (options_.trace) Say("the time is " + FormatTimestamp(world_.Now()));
  }
}

void EngineSimulation::CheckAllEnded() {
  for (const auto& [run_id, run] : witness_.runs()) {
    if (!IsTerminal(run->status())) {
      const auto why = world_.engine().Why(run_id.value());
      Find(run_id.value() + " does not end: " + (why ? why->summary : ToString(why.error())));
      return;
    }
    const auto view = world_.engine().View(run_id.value());
    if (!view) return Find("cannot view " + run_id.value() + ": " + ToString(view.error()));
    witness_.CheckView(*view);
  }
}

void EngineSimulation::Count() {
  EngineSimulationCounts& counts = report_.counts;
  counts.runs = witness_.runs().size();
  counts.events = witness_.events();
  counts.redeliveries = witness_.redeliveries();
  counts.undone = witness_.undone();
  counts.late_reports = workers_.late_reports();
  counts.lost_workers = workers_.lost();
  counts.signals = operators_.signals();
  counts.deliveries = operators_.deliveries();
  counts.failed_writes = world_.failed_writes();
  for (const auto& [run_id, run] : witness_.runs()) {
    counts.completed += run->status() == RunStatus::kCompleted ? 1 : 0;
    counts.failed += run->status() == RunStatus::kFailed ? 1 : 0;
    counts.cancelled += run->status() == RunStatus::kCancelled ? 1 : 0;
  }
}

// A failed assertion ends the process; its output must contain the command that reproduces the run.
char running_command[256] = {};

void SayCommand(int /*signal*/) {
  constexpr std::string_view kAgain = "again: ";
  (void)!::write(STDERR_FILENO, kAgain.data(), kAgain.size());
  (void)!::write(STDERR_FILENO, running_command, std::strlen(running_command));
  (void)!::write(STDERR_FILENO, "\n", 1);
  std::signal(SIGABRT, SIG_DFL);
}

}  // namespace

EngineSimulationCounts& EngineSimulationCounts::operator+=(const EngineSimulationCounts& other) {
  runs += other.runs;
  events += other.events;
  redeliveries += other.redeliveries;
  late_reports += other.late_reports;
  lost_workers += other.lost_workers;
  undone += other.undone;
  signals += other.signals;
  deliveries += other.deliveries;
  crashes += other.crashes;
  failed_writes += other.failed_writes;
  completed += other.completed;
  failed += other.failed;
  cancelled += other.cancelled;
  return *this;
}

EngineSimulationReport SimulateEngine(const EngineSimulationOptions& options) {
  std::strncpy(running_command, ReproduceCommand(options).c_str(), sizeof(running_command) - 1);
  std::signal(SIGABRT, SayCommand);
  EngineSimulationReport report = EngineSimulation(options).Run();
  std::signal(SIGABRT, SIG_DFL);
  return report;
}

std::string ReproduceCommand(const EngineSimulationOptions& options) {
  std::string command = "everstep-simulate --engine --seed " + std::to_string(options.seed) +
                        " --steps " + std::to_string(options.steps);
  if (options.bug != EngineBug::kNone) command += " --bug " + std::string(Name(options.bug));
  return command;
}

}  // namespace everstep
