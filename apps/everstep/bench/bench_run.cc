#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>

#include "base/assert.h"
#include "base/clock.h"
#include "bench/report.h"
#include "bench/workload.h"
#include "commands.h"
#include "output.h"
#include "run/local_engine.h"

namespace everstep::cli {
namespace {

std::string Sequential(std::size_t steps) {
  std::string plan = R"({"metadata":{"planId":"bench","planVersion":"1"},"steps":[)";
  for (std::size_t i = 0; i < steps; ++i) {
    if (i > 0) plan += ',';
    plan += R"({"stepId":"s)" + std::to_string(i) + R"(","kind":"noop"})";
  }
  return plan + "]}";
}

// `chains` parallel chains of steps.
std::string Wide(std::size_t steps, std::size_t chains) {
  std::string plan = R"({"metadata":{"planId":"wide","planVersion":"1"},"steps":[)";
  for (std::size_t i = 0; i < steps; ++i) {
    if (i > 0) plan += ',';
    plan += R"({"stepId":"s)" + std::to_string(i) + R"(","kind":"noop","dependsOn":[)";
    if (i >= chains) plan += "\"s" + std::to_string(i - chains) + "\"";
    plan += "]}";
  }
  return plan + "]}";
}

constexpr std::string_view kLoop = R"({"metadata":{"planId":"loop","planVersion":"1"},
"inputs":{"list":{"type":"array"}},
"steps":[{"stepId":"each","kind":"noop","foreach":{"items":"{{ inputs.list }}","maxInFlight":1000}},
{"stepId":"join","kind":"noop","dependsOn":["each"]}]})";

constexpr std::string_view kParked = R"({"metadata":{"planId":"parked","planVersion":"1"},
"inputs":{"until":{"type":"string"}},
"steps":[{"stepId":"rest","waitFor":{"until":"{{ inputs.until }}"}}]})";

constexpr std::string_view kSleeping = R"({"metadata":{"planId":"sleeping","planVersion":"1"},
"steps":[{"stepId":"sleep","kind":"sleep","inputs":{"duration":"1h"}}]})";

// An engine on its own store, with counters of started and ended runs.
class Bench {
 public:
  explicit Bench(std::function<void(const std::string&)> on_end = {}) : on_end_(std::move(on_end)) {
    Open();
  }

  void Open() {
    EngineOptions options;
    options.log.directory = directory_.path() + "/store";
    options.on_end = [this](const std::string& run_id, const std::string& status) {
      EVERSTEP_ASSERT(status == "COMPLETED");
      if (on_end_) on_end_(run_id);
      Count(ended_);
    };
    auto opened = Engine::Open(std::move(options));
    EVERSTEP_ASSERT(opened.has_value());
    engine_ = std::move(*opened);
  }
  void Close() { engine_.reset(); }

  LocalEngine& engine() { return static_cast<LocalEngine&>(*engine_); }

  // Submits a start without waiting for the answer.
  void Submit(std::string_view plan, std::string run_id, std::string inputs = {}) {
    StartRequest request;
    request.plan = plan;
    request.run_id = std::move(run_id);
    request.inputs = std::move(inputs);
    auto prepared = engine().Prepare(request);
    EVERSTEP_ASSERT(prepared.has_value());
    prepared->order.answer = [this](Result<StartedRun> started) {
      EVERSTEP_ASSERT(started.has_value());
      Count(started_);
    };
    engine().Submit(std::move(*prepared));
  }
  void WaitStarted(std::size_t runs) { WaitFor(started_, runs); }
  void WaitEnded(std::size_t runs) { WaitFor(ended_, runs); }

 private:
  void Count(std::size_t& counter) {
    bool reached = false;
    {
      const std::lock_guard lock(mutex_);
      reached = ++counter == target_;
    }
    if (reached) changed_.notify_one();
  }
  void WaitFor(const std::size_t& counter, std::size_t runs) {
    std::unique_lock lock(mutex_);
    target_ = runs;
    changed_.wait(lock, [&] { return counter >= runs; });
  }

  const std::function<void(const std::string&)> on_end_;
  ScratchDirectory directory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t started_ = 0;  // guarded by mutex_, like the next two
  std::size_t ended_ = 0;
  std::size_t target_ = 0;
  std::unique_ptr<Engine> engine_;
};

void Throughput(std::size_t runs, BenchReport& report) {
  constexpr std::size_t kInFlight = 256;
  const std::string plan = Sequential(10);
  Bench* self = nullptr;
  std::atomic<std::size_t> next{0};
  Bench bench([&](const std::string&) {
    const std::size_t run = next.fetch_add(1);
    if (run < runs) self->Submit(plan, Workload::RunName(run));
  });
  self = &bench;
  const double wall = WallSeconds();
  const double cpu = CpuSeconds();
  for (std::size_t i = 0; i < kInFlight; ++i) {
    const std::size_t run = next.fetch_add(1);
    bench.Submit(plan, Workload::RunName(run));
  }
  bench.WaitEnded(runs);
  const double steps = static_cast<double>(runs) * 10;
  report.AtLeast("10-step runs, 256 in flight", steps / (WallSeconds() - wall), "steps/s", 30'000);
  report.AtMost("CPU, all included", (CpuSeconds() - cpu) / steps * 1e6, "µs/step", 25);
}

void Lone(BenchReport& report) {
  constexpr std::size_t kSteps = 50;
  const double raw = RawWriteMicros();
  Bench bench;
  const std::string plan = Sequential(kSteps);
  std::vector<double> micros;
  for (std::size_t run = 0; run < 40; ++run) {
    const double begin = WallSeconds();
    bench.Submit(plan, Workload::RunName(run));
    bench.WaitEnded(run + 1);
    micros.push_back((WallSeconds() - begin) * 1e6 / kSteps);
  }
  report.Add("raw synced write, p50", raw, "µs");
  report.Add("step of a lone run, p50", Quantile(micros, 0.5), "µs");
  report.AtMost("step of a lone run / raw", Quantile(micros, 0.5) / raw, "x", 1.6);
}

// Compares the CPU time of the first and the last part of a long run.
void Long(std::size_t steps, BenchReport& report) {
  Bench bench;
  const std::string plan = Wide(steps, 16);
  bench.Submit(plan, "long");
  constexpr std::size_t kPart = 1000;
  struct Mark {
    std::size_t steps = 0;
    double cpu = 0;
  };
  std::vector<Mark> marks;
  while (true) {
    const EngineMetrics metrics = bench.engine().Metrics();
    marks.push_back({metrics.steps_ended, CpuSeconds()});
    if (metrics.runs_ended > 0) break;
    (void)bench.engine().WaitForEnd("long", std::chrono::milliseconds(2));
  }
  const auto cpu_between = [&](std::size_t from, std::size_t to) {
    const auto at = [&](std::size_t step) {
      return *std::ranges::lower_bound(marks, step, {}, &Mark::steps);
    };
    const Mark begin = at(from);
    const Mark end = at(to);
    return (end.cpu - begin.cpu) / static_cast<double>(end.steps - begin.steps) * 1e6;
  };
  // Skip the first thousand steps, which also warm up the process.
  const double first = cpu_between(kPart, 4 * kPart);
  const double last = cpu_between(steps - 4 * kPart, steps - kPart);
  report.Add("first 3,000 of " + std::to_string(steps) + " steps", first, "µs CPU/step");
  report.Add("last 3,000", last, "µs CPU/step");
  report.AtMost("last / first", last / first, "x", 1.1);
}

void FanOut(BenchReport& report) {
  const auto measure = [](std::size_t items) {
    Bench bench;
    std::string list = R"({"list":[)";
    for (std::size_t i = 0; i < items; ++i) list += (i > 0 ? "," : "") + std::to_string(i);
    list += "]}";
    const double cpu = CpuSeconds();
    bench.Submit(kLoop, "loop", list);
    bench.WaitEnded(1);
    return (CpuSeconds() - cpu) / static_cast<double>(items) * 1e6;
  };
  (void)measure(100);
  const double some = measure(2'000);
  const double many = measure(10'000);
  report.Add("2,000 items joined", some, "µs CPU/item");
  report.Add("10,000 items joined", many, "µs CPU/item");
  report.AtMost("per item, 10,000 / 2,000", many / some, "x", 1.2);
}

void Timers(std::size_t runs, BenchReport& report) {
  constexpr double kSpreadSeconds = 60;
  std::mutex mutex;
  std::vector<double> late;
  std::vector<Timestamp> due(runs);
  Bench bench([&](const std::string& run_id) {
    const std::size_t run = std::stoul(run_id.substr(2));
    const double lateness = static_cast<double>((SystemClock().Now() - due[run]).count()) / 1000.0;
    const std::lock_guard lock(mutex);
    late.push_back(lateness);
  });
  const double before = ResidentMegabytes();
  // Leaves enough time to start all runs before the first is due.
  const Timestamp first = SystemClock().Now() + std::chrono::milliseconds(runs / 6 + 3000);
  for (std::size_t run = 0; run < runs; ++run) {
    const double offset = kSpreadSeconds * static_cast<double>(run) / static_cast<double>(runs);
    due[run] = std::chrono::ceil<std::chrono::milliseconds>(
        first + std::chrono::microseconds(static_cast<std::int64_t>(offset * 1e6)));
    bench.Submit(kParked, "w-" + std::to_string(run),
                 R"({"until":")" + FormatTimestamp(due[run]) + "\"}");
    if (run >= 1000) bench.WaitStarted(run - 1000);
  }
  bench.WaitStarted(runs);
  report.Add("time left when all were parked",
             static_cast<double>((first - SystemClock().Now()).count()) / 1e6, "s");
  report.AtMost(std::to_string(runs) + " runs parked on timers, resident",
                ResidentMegabytes() - before, "MB", 200);
  bench.WaitEnded(runs);
  report.AtMost("lateness p99, due over 60 s", Quantile(late, 0.99), "ms", 20);
  report.Add("lateness p50", Quantile(late, 0.5), "ms");
}

void Recovery(std::size_t runs, BenchReport& report) {
  Bench bench;
  for (std::size_t run = 0; run < runs; ++run) bench.Submit(kSleeping, "r-" + std::to_string(run));
  bench.WaitStarted(runs);
  bench.Close();
  const double begin = WallSeconds();
  bench.Open();
  double first = 0;
  while (true) {
    const std::uint64_t again = bench.engine().Metrics().steps_redelivered;
    if (again > 0 && first == 0) first = WallSeconds() - begin;
    if (again >= runs) break;
    (void)bench.engine().WaitForEnd("r-0", std::chrono::milliseconds(1));
  }
  report.AtMost("open to first step delivered, " + std::to_string(runs) + " runs in flight", first,
                "s", 2);
  report.Add("open to all delivered again", WallSeconds() - begin, "s");
}

constexpr std::string_view kParts[] = {"all",  "throughput", "lone",    "long",
                                       "loop", "timers",     "recovery"};

constexpr OptionSpec kOptions[] = {
    {"only", OptionKind::kWord, "PART", "all, throughput, lone, long, loop, timers or recovery",
     "all", kParts, false},
    {"runs", OptionKind::kCount, "N", "runs of the part throughput", "20000", {}, false},
    {"steps", OptionKind::kCount, "N", "steps of the long plan", "100000", {}, false},
    {"parked", OptionKind::kCount, "N", "runs parked on timers", "100000", {}, false},
    {"in-flight", OptionKind::kCount, "N", "runs to recover", "10000", {}, false},
    {"json", OptionKind::kText, "FILE", "add the results to this JSON array", "", {}, false},
};

ExitCode Run(const Arguments& arguments, Output& out) {
  std::vector<BenchReport> reports;
  const auto measure = [&](std::string_view part, const auto& run) {
    if (arguments.Text("only") != "all" && arguments.Text("only") != part) return;
    std::fprintf(stderr, "%s ...\n", std::string(part).c_str());
    run(reports.emplace_back("run." + std::string(part)));
  };
  measure("throughput", [&](BenchReport& r) { Throughput(arguments.Number("runs"), r); });
  measure("lone", [&](BenchReport& r) { Lone(r); });
  measure("long", [&](BenchReport& r) { Long(arguments.Number("steps"), r); });
  measure("loop", [&](BenchReport& r) { FanOut(r); });
  measure("timers", [&](BenchReport& r) { Timers(arguments.Number("parked"), r); });
  measure("recovery", [&](BenchReport& r) { Recovery(arguments.Number("in-flight"), r); });
  return WriteReports(reports, arguments, out);
}

}  // namespace

const Command kBenchRun = {"bench run",
                           "",
                           0,
                           0,
                           "Measure runs of plans on this machine: steps, timers, recovery.",
                           "Where possible, results are compared with a raw limit measured in the "
                           "same run: on shared,\nnoisy machines only the ratios are meaningful. "
                           "Uses and removes temporary directories.",
                           kOptions,
                           Run};

}  // namespace everstep::cli
