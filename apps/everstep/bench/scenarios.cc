#include "bench/scenarios.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/assert.h"
#include "base/clock.h"
#include "base/random.h"
#include "bench/counting_key_value.h"
#include "bench/workload.h"
#include "engine/embedded_log.h"
#include "event/event_record.h"
#include "machine/run_fold.h"
#include "store/keyed_store.h"
#include "store/memory_key_value.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kBatch = 128;

std::unique_ptr<Log> OpenAt(const std::string& directory) {
  LogOptions options;
  options.directory = directory;
  auto log = Log::Open(options);
  EVERSTEP_ASSERT(log.has_value());
  return std::move(*log);
}

void AppendAll(Log& log, Dialect dialect, const Workload& work) {
  for (std::size_t from = 0; from < work.size(); from += kBatch) {
    for (const auto& answer : log.AppendAll(dialect, work.Batch(from, kBatch))) {
      if (!answer) std::fprintf(stderr, "%s\n", ToString(answer.error()).c_str());
      EVERSTEP_ASSERT(answer.has_value() && !answer->idempotent);
    }
  }
}

// Returns the CPU time per event of appending the workload.
double MicrosPerEvent(Log& log, Dialect dialect, const Workload& work) {
  const double cpu = CpuSeconds();
  AppendAll(log, dialect, work);
  return (CpuSeconds() - cpu) / static_cast<double>(work.size()) * 1e6;
}

double SnapshotMicros(Log& log, const std::string& run_id) {
  std::vector<double> micros;
  for (int i = 0; i < 500; ++i) {
    const double begin = WallSeconds();
    EVERSTEP_ASSERT(log.Snapshot(run_id).has_value());
    micros.push_back((WallSeconds() - begin) * 1e6);
  }
  return Quantile(micros, 0.5);
}

}  // namespace

std::size_t RowBytesPerEvent() {
  auto counts = std::make_shared<RowCounts>();
  auto store = OpenKeyedStore(
      std::make_unique<CountingKeyValue>(std::make_unique<MemoryKeyValue>(), counts));
  EVERSTEP_ASSERT(store.has_value());
  EmbeddedLog log(std::move(*store), SystemClock(), SystemRandom(), {});
  Workload work;
  for (std::uint64_t run = 0; run < 100; ++run) work.AddRun(run);
  AppendAll(log, Dialect::kContract, work);
  return counts->bytes / work.size();
}

void RunGrows(std::size_t events, BenchReport& report) {
  const ScratchDirectory at;
  const auto log = OpenAt(at.path() + "/log");
  const std::string run_id = Workload::RunName(1);
  Workload work;
  work.AddRunStart(run_id);
  AppendAll(*log, Dialect::kContract, work);
  constexpr std::size_t kWindows = 10;
  std::vector<double> micros;
  std::size_t step = 0;
  for (std::size_t window = 0; window < kWindows; ++window) {
    work.Clear();
    while (work.size() < events / kWindows) work.AddStep(run_id, "s" + std::to_string(step++));
    micros.push_back(MicrosPerEvent(*log, Dialect::kContract, work));
    char metric[64];
    std::snprintf(metric, sizeof(metric), "CPU, events up to %zu", (window + 1) * work.size());
    report.Add(metric, micros.back(), "µs/event");
  }
  // Compare thirds instead of single windows: each window may have one compaction more or less.
  const auto mean = [&](std::size_t from, std::size_t to) {
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += micros[i];
    return sum / static_cast<double>(to - from);
  };
  report.AtMost("CPU, last third / first third", mean(7, 10) / mean(0, 3), "x", 1.1);
}

void StoreGrows(std::size_t runs, BenchReport& report) {
  const ScratchDirectory at;
  const auto log = OpenAt(at.path() + "/log");
  Workload work;
  constexpr std::size_t kWindows = 10;
  std::vector<double> micros;
  std::uint64_t run = 0;
  // The first window fills caches and buffers of constant size.
  double resident_at_tenth = 0;
  for (std::size_t window = 0; window < kWindows; ++window) {
    work.Clear();
    for (std::size_t i = 0; i < runs / kWindows; ++i) {
      const std::string run_id = Workload::RunName(run++);
      work.AddRunStart(run_id);
      work.AddStep(run_id, "s1");
    }
    micros.push_back(MicrosPerEvent(*log, Dialect::kContract, work));
    report.Add("CPU, runs up to " + std::to_string(run), micros.back(), "µs/event");
    work.Clear();
    for (std::size_t i = 0; i < runs / kWindows; ++i) {
      work.AddWait(Workload::RunName(run - runs / kWindows + i), "w1");
    }
    AppendAll(*log, Dialect::kNative, work);
    if (window == 0) resident_at_tenth = ResidentMegabytes();
  }
  report.Add("CPU, last tenth / first tenth", micros.back() / micros.front(), "x");
  report.AtMost("memory added by the resting runs after the first tenth",
                ResidentMegabytes() - resident_at_tenth, "MB", 100);
  report.Add("memory for runs (bounded by a setting)",
             static_cast<double>(log->Health("tenant_acme").memory_bytes) / 1048576.0, "MB");
}

void Folding(BenchReport& report) {
  const ScratchDirectory at;
  auto opened = OpenRocksdbStore(at.path() + "/log", {});
  EVERSTEP_ASSERT(opened.has_value());
  EmbeddedLog log(std::move(*opened), SystemClock(), SystemRandom(), {});
  const std::string long_run = Workload::RunName(2);
  Workload work;
  work.AddRun(1);
  AppendAll(log, Dialect::kContract, work);
  work.Clear();
  work.AddRunStart(long_run);
  for (int step = 0; step < 10; ++step) work.AddStep(long_run, "step-" + std::to_string(step));
  AppendAll(log, Dialect::kContract, work);
  const double short_history = SnapshotMicros(log, Workload::RunName(1));
  work.Clear();
  work.AddMarks(long_run, 200'000);
  AppendAll(log, Dialect::kNative, work);
  const double long_history = SnapshotMicros(log, long_run);
  report.Add("snapshot of a run of 10 steps, p50", short_history, "µs");
  report.AtMost("the same after 200,000 more events / before", long_history / short_history, "x",
                1.5);

  // Decode and fold the stored records of a run of ten steps.
  std::vector<std::string> records;
  const auto reader = log.store().Read();
  const auto run = reader->FindRun(RunId(Workload::RunName(1)));
  EVERSTEP_ASSERT(run.has_value() && run->has_value());
  const auto stored = reader->ReadEvents(**run, {});
  EVERSTEP_ASSERT(stored.has_value());
  for (const Event& event : *stored) EncodeEventRecord(event, records.emplace_back());
  constexpr int kRuns = 50'000;
  const double cpu = CpuSeconds();
  for (int i = 0; i < kRuns; ++i) {
    RunFold fold((*run)->state.scope, (*run)->state.key_version);
    for (const std::string& record : records) fold.Apply(*DecodeEventRecord(record));
    EVERSTEP_ASSERT(fold.run().status == RunStatus::kCompleted);
  }
  const double events = static_cast<double>(kRuns) * static_cast<double>(records.size());
  report.AtLeast("decoded and folded, one core", events / (CpuSeconds() - cpu), "events/s",
                 1'000'000);
}

}  // namespace everstep::cli
