#include <algorithm>
#include <cstdio>
#include <latch>
#include <thread>

#include "base/assert.h"
#include "base/clock.h"
#include "bench/report.h"
#include "bench/scenarios.h"
#include "bench/workload.h"
#include "commands.h"
#include "output.h"
#include "store/rocksdb_key_value.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kBatch = 128;
constexpr int kAppenders = 8;
constexpr int kRounds = 3;

std::unique_ptr<Log> OpenAt(const std::string& directory) {
  LogOptions options;
  options.directory = directory;
  auto log = Log::Open(options);
  EVERSTEP_ASSERT(log.has_value());
  return std::move(*log);
}

struct Rate {
  double events_per_second;
  double cpu_micros_per_event;
};

// Appends all events through the public API, by several appenders in batches.
Rate AppendOurs(Log& log, const Workload& work, std::vector<double>& batch_micros) {
  std::vector<std::vector<double>> latencies(kAppenders);
  // Each appender has runs of its own; a batch may span several runs.
  const std::size_t runs = work.size() / Workload::kEventsPerRun;
  std::latch ready(kAppenders + 1);
  std::vector<std::thread> appenders;
  for (int t = 0; t < kAppenders; ++t) {
    appenders.emplace_back([&, t] {
      const auto number = static_cast<std::size_t>(t);
      const std::size_t end = (number + 1) * runs / kAppenders * Workload::kEventsPerRun;
      std::size_t from = number * runs / kAppenders * Workload::kEventsPerRun;
      ready.arrive_and_wait();
      for (; from < end; from += kBatch) {
        const auto batch = work.Batch(from, std::min(kBatch, end - from));
        const double begin = WallSeconds();
        for (const auto& answer : log.AppendAll(Dialect::kContract, batch)) {
          EVERSTEP_ASSERT(answer.has_value() && !answer->idempotent);
        }
        latencies[number].push_back((WallSeconds() - begin) * 1e6);
      }
    });
  }
  const double cpu = CpuSeconds();
  const double wall = WallSeconds();
  ready.arrive_and_wait();
  for (std::thread& appender : appenders) appender.join();
  const double wall_used = WallSeconds() - wall;
  const double cpu_used = CpuSeconds() - cpu;
  for (const auto& some : latencies)
    batch_micros.insert(batch_micros.end(), some.begin(), some.end());
  const auto events = static_cast<double>(work.size());
  return {events / wall_used, cpu_used / events * 1e6};
}

// Writes to the store engine alone: one row of the same size per event, synced batches, one thread.
Rate AppendRaw(KeyValue& raw, std::size_t events, std::size_t row_bytes, std::uint64_t& serial) {
  const std::string value(row_bytes > 16 ? row_bytes - 16 : 1, 'x');
  const double cpu = CpuSeconds();
  const double wall = WallSeconds();
  for (std::size_t done = 0; done < events; done += kBatch) {
    const auto batch = raw.NewBatch();
    for (std::size_t i = 0; i < kBatch; ++i) {
      char key[17];
      std::snprintf(key, sizeof(key), "%016llx", static_cast<unsigned long long>(serial++));
      batch->Put(Table::kEvents, std::string_view(key, 16), value);
    }
    EVERSTEP_ASSERT(raw.Write(*batch).has_value());
  }
  const auto count = static_cast<double>(events);
  return {count / (WallSeconds() - wall), (CpuSeconds() - cpu) / count * 1e6};
}

void Throughput(std::size_t events, std::size_t row_bytes, BenchReport& report) {
  const ScratchDirectory ours_at;
  const ScratchDirectory raw_at;
  const auto log = OpenAt(ours_at.path() + "/log");
  const auto raw = std::move(*OpenRocksdbKeyValue(raw_at.path() + "/raw", {}, SystemClock()));
  std::vector<double> ratios, ours_rate, ours_cpu, raw_rate, raw_cpu, batch_micros;
  std::uint64_t run = 0;
  std::uint64_t serial = 0;
  for (int round = 0; round < kRounds; ++round) {
    Workload work;
    while (work.size() < events / kRounds) work.AddRun(run++);
    const Rate ours = AppendOurs(*log, work, batch_micros);
    const Rate limit = AppendRaw(*raw, work.size(), row_bytes, serial);
    ratios.push_back(ours.events_per_second / limit.events_per_second);
    ours_rate.push_back(ours.events_per_second);
    ours_cpu.push_back(ours.cpu_micros_per_event);
    raw_rate.push_back(limit.events_per_second);
    raw_cpu.push_back(limit.cpu_micros_per_event);
  }
  report.Add("raw: synced batches of 128, one row of the same bytes", Quantile(raw_rate, 0.5),
             "events/s");
  report.Add("raw: CPU", Quantile(raw_cpu, 0.5), "µs/event");
  report.Add("ours: validated, folded, durable, 8 appenders x 128", Quantile(ours_rate, 0.5),
             "events/s");
  report.AtLeast("ours / raw", Quantile(ratios, 0.5) * 100, "%", 50);
  report.AtMost("ours: CPU", Quantile(ours_cpu, 0.5), "µs/event", 8);
  report.Add("batch answered, p50", Quantile(batch_micros, 0.5), "µs");
  report.Add("batch answered, p99", Quantile(batch_micros, 0.99), "µs");
  const double disk = static_cast<double>(log->Health("tenant_acme").disk_bytes);
  report.Add("on disk", disk / static_cast<double>(run * Workload::kEventsPerRun), "bytes/event");
}

void LoneAppender(std::size_t row_bytes, BenchReport& report) {
  const ScratchDirectory ours_at;
  const ScratchDirectory raw_at;
  const auto log = OpenAt(ours_at.path() + "/log");
  const auto raw = std::move(*OpenRocksdbKeyValue(raw_at.path() + "/raw", {}, SystemClock()));
  Workload work;
  for (std::uint64_t run = 0; run < 100; ++run) work.AddRun(run);
  const std::string value(row_bytes, 'x');
  std::vector<double> ours, limit;
  for (std::size_t i = 0; i < work.size(); ++i) {
    // Alternate, so that both are measured under the same conditions.
    double begin = WallSeconds();
    const auto batch = raw->NewBatch();
    batch->Put(Table::kEvents, std::to_string(i), value);
    EVERSTEP_ASSERT(raw->Write(*batch).has_value());
    limit.push_back((WallSeconds() - begin) * 1e6);
    const auto event = work.Batch(i, 1).front();
    begin = WallSeconds();
    EVERSTEP_ASSERT(log->Append(Dialect::kContract, event).has_value());
    ours.push_back((WallSeconds() - begin) * 1e6);
  }
  report.Add("raw synced write, p50", Quantile(limit, 0.5), "µs");
  report.Add("lone appender, p50", Quantile(ours, 0.5), "µs");
  report.Add("lone appender, p99", Quantile(ours, 0.99), "µs");
  report.AtMost("lone appender / raw, p50", Quantile(ours, 0.5) / Quantile(limit, 0.5), "x", 1.3);
}

constexpr std::string_view kParts[] = {"all", "throughput", "lone", "growth", "runs", "fold"};

constexpr OptionSpec kOptions[] = {
    {"only", OptionKind::kWord, "PART", "all, throughput, lone, growth, runs or fold", "all",
     kParts, false},
    {"events", OptionKind::kCount, "N", "events for the part throughput", "300000", {}, false},
    {"growth", OptionKind::kCount, "N", "events of the growing run", "1000000", {}, false},
    {"runs", OptionKind::kCount, "N", "runs of the growing store", "100000", {}, false},
    {"json", OptionKind::kText, "FILE", "add the results to this JSON array", "", {}, false},
};

ExitCode Run(const Arguments& arguments, Output& out) {
  std::vector<BenchReport> reports;
  const std::size_t row_bytes = RowBytesPerEvent();
  const auto measure = [&](std::string_view part, std::string_view bench, const auto& run) {
    if (arguments.Text("only") != "all" && arguments.Text("only") != part) return;
    std::fprintf(stderr, "%s ...\n", std::string(part).c_str());
    run(reports.emplace_back(bench));
  };
  measure("throughput", "append", [&](BenchReport& report) {
    Throughput(arguments.Number("events"), row_bytes, report);
    report.Add("row bytes (keys and values), all tables", static_cast<double>(row_bytes),
               "bytes/event");
  });
  measure("lone", "append.lone", [&](BenchReport& report) { LoneAppender(row_bytes, report); });
  measure("growth", "append.growth",
          [&](BenchReport& report) { RunGrows(arguments.Number("growth"), report); });
  measure("runs", "append.runs",
          [&](BenchReport& report) { StoreGrows(arguments.Number("runs"), report); });
  measure("fold", "fold", [&](BenchReport& report) { Folding(report); });
  return WriteReports(reports, arguments, out);
}

}  // namespace

const Command kBenchAppend = {"bench append",
                              "",
                              0,
                              0,
                              "Measure appends, growth, folding and snapshots on this machine.",
                              "Results are compared with a raw limit that is measured in the same "
                              "run: on shared,\n"
                              "noisy machines only the ratios are meaningful. Uses a temporary "
                              "directory and removes it.",
                              kOptions,
                              Run};

}  // namespace everstep::cli
