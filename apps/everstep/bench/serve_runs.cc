#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <future>

#include "base/assert.h"
#include "base/unique_fd.h"
#include "bench/bench_child.h"
#include "bench/load_client.h"
#include "bench/serve_parts.h"
#include "everstep/worker.h"
#include "interrupt.h"
#include "machine/state.h"
#include "wire/api_types.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kConnections = 64;
constexpr std::size_t kInFlight = 512;
constexpr auto kCompleted = static_cast<std::size_t>(RunStatus::kCompleted);  // in RunCounts
constexpr double kStalledSeconds = 60;
constexpr double kCountEvery = 0.005;
constexpr std::string_view kKind = "bench.work";

std::string StartRequest(std::size_t steps, std::string_view target = "/v1/runs") {
  std::string plan = R"({\"metadata\":{\"planId\":\"bench\",\"planVersion\":\"1\"},\"steps\":[)";
  for (std::size_t i = 0; i < steps; ++i) {
    if (i > 0) plan += ',';
    plan += R"({\"stepId\":\"s)" + std::to_string(i) + R"(\",\"kind\":\")" + std::string(kKind) +
            R"(\"})";
  }
  return LoadClient::Post(target, R"({"plan":")" + plan + R"(]}"})");
}

std::string WaitRequest(std::string_view start_answer) {
  const auto run = FromWire<StartedRun>(start_answer, UnknownMembers::kIgnore);
  EVERSTEP_ASSERT(run.has_value());
  return LoadClient::Get("/v1/runs/" + run->run_id + "?wait=60s");
}

std::size_t CompletedRuns(LoadClient& client) {
  const auto counts =
      FromWire<RunCounts>(client.Call(LoadClient::Get("/v1/counts"), 200), UnknownMembers::kIgnore);
  EVERSTEP_ASSERT(counts.has_value() && counts->runs.size() > kCompleted);
  return counts->runs[kCompleted];
}

// The server and its worker process.
struct Pair {
  BenchServer server;
  BenchChild worker{{"bench", "serve", "--as-worker", "http://" + server.address()}};
};

struct Usage {
  explicit Usage(const Pair& pair)
      : wall(WallSeconds()), server(pair.server.CpuSeconds()), worker(pair.worker.CpuSeconds()) {}
  double wall;
  double server;
  double worker;
};

// Starts runs as fast as they complete, with a bounded number in flight.
void Flood(Pair& pair, const std::string& start, std::size_t runs) {
  LoadClient client(pair.server.address(), kConnections);
  LoadClient looker(pair.server.address(), 1);
  const std::size_t before = CompletedRuns(looker);
  std::size_t sent = 0;
  std::size_t completed = 0;
  double counted_at = WallSeconds();
  double moved_at = counted_at;
  client.Run(
      [&](std::size_t) -> std::optional<std::string_view> {
        if (sent == runs || sent >= completed + kInFlight) return std::nullopt;
        ++sent;
        return start;
      },
      [](std::size_t, const LoadClient::Answer& answer) { EVERSTEP_ASSERT(answer.status == 201); },
      [&] {
        if (WallSeconds() - counted_at >= kCountEvery) {
          const std::size_t now = CompletedRuns(looker) - before;
          counted_at = WallSeconds();
          if (now > completed) moved_at = counted_at;
          EVERSTEP_ASSERT(counted_at - moved_at < kStalledSeconds);
          completed = now;
        }
        return completed == runs;
      });
}

// Each connection starts a run and waits for its end.
std::vector<double> StartAndWait(Pair& pair, const std::string& start, std::size_t connections,
                                 std::size_t runs) {
  LoadClient client(pair.server.address(), connections);
  std::vector<std::string> wait(connections);  // empty: the next request starts a run
  std::vector<double> begun(connections, 0);
  std::vector<double> micros;
  std::size_t sent = 0;
  client.Run(
      [&](std::size_t number) -> std::optional<std::string_view> {
        if (!wait[number].empty()) return wait[number];
        if (sent == runs) return std::nullopt;
        ++sent;
        begun[number] = WallSeconds();
        return start;
      },
      [&](std::size_t number, const LoadClient::Answer& answer) {
        if (wait[number].empty()) {
          EVERSTEP_ASSERT(answer.status == 201);
          wait[number] = WaitRequest(answer.body);
          return;
        }
        EVERSTEP_ASSERT(answer.body.find(R"("COMPLETED")") != std::string_view::npos);
        micros.push_back((WallSeconds() - begun[number]) * 1e6);
        wait[number].clear();
      },
      [&] { return micros.size() == runs; });
  return micros;
}

}  // namespace

void ServeRuns(std::size_t steps, std::size_t runs, BenchReport& report) {
  Pair pair;
  const std::string start = StartRequest(steps);
  (void)StartAndWait(pair, start, 8, 200);  // warms up: the worker registers, the plan is compiled
  const auto all = static_cast<double>(runs * steps);
  const Usage before(pair);
  Flood(pair, start, runs);
  const Usage after(pair);
  const double rate = all / (after.wall - before.wall);
  const double cpu = (after.server - before.server) / all * 1e6;
  if (steps == 1) {
    report.AtLeast("one-step runs by a worker process, 512 in flight", rate, "runs/s", 6'000);
    report.Add("server CPU", cpu, "µs/run");
  } else {
    const std::string what = std::to_string(steps) + "-step runs by a worker process";
    report.AtLeast(what + ", 512 in flight", rate, "steps/s", 20'000);
    report.AtMost("server CPU", cpu, "µs/step", 40);
  }
  report.Add("worker CPU", (after.worker - before.worker) / all * 1e6, "µs/step");
  const std::size_t waited = std::max<std::size_t>(runs / 4, kConnections);
  const Usage waiting(pair);
  const auto micros = StartAndWait(pair, start, kConnections, waited);
  const Usage done(pair);
  const auto waited_steps = static_cast<double>(waited * steps);
  report.Add("64 clients that wait for the end", waited_steps / (done.wall - waiting.wall),
             "steps/s");
  report.Add("  server CPU", (done.server - waiting.server) / waited_steps * 1e6, "µs/step");
  report.Add("  run, p50", Quantile(micros, 0.5) / 1e3, "ms");
  report.Add("  run, p99", Quantile(micros, 0.99) / 1e3, "ms");
}

void ServeLone(BenchReport& report) {
  Pair pair;
  (void)StartAndWait(pair, StartRequest(1), 1, 50);
  const std::string start = StartRequest(1, "/v1/runs?wait=60s");
  LoadClient client(pair.server.address(), 1);
  const double raw_before = RawWriteMicros();
  RawWriter raw;
  std::vector<double> micros, raw_micros;
  for (int i = 0; i < 500; ++i) {
    // Alternate, so that both are measured under the same conditions.
    raw_micros.push_back(raw.WriteMicros());
    const double begin = WallSeconds();
    const std::string ended = client.Call(start, 201);
    micros.push_back((WallSeconds() - begin) * 1e6);
    EVERSTEP_ASSERT(ended.find(R"("COMPLETED")") != std::string::npos);
  }
  // A write between runs may find the disk idle or still busy with the writes of the run. The
  // fastest of the three measurements is the limit.
  const double limit = std::min({Quantile(raw_micros, 0.5), raw_before, RawWriteMicros()});
  report.Add("raw synced write, p50", limit, "µs");
  report.Add("a lone one-step run, start to completed, p50", Quantile(micros, 0.5), "µs");
  report.Add("p99", Quantile(micros, 0.99), "µs");
  report.AtMost("lone run / raw, p50", Quantile(micros, 0.5) / limit, "x", 5);
}

bool ServeAsWorker(const std::string& url, std::size_t slots) {
  WorkerOptions options;
  options.server.url = url;
  options.name = "bench";
  options.slots = static_cast<std::uint32_t>(slots);
  options.threads = 1;
  options.drain_timeout = std::chrono::milliseconds(1'000);
  Worker worker(options);
  worker.Handle(std::string(kKind), [](const TaskCall&) { return TaskResult::Success("1"); });
  std::array<int, 2> ends{};
  EVERSTEP_ASSERT(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const UniqueFd over(ends[0]);  // at its end when the worker has ended by itself
  auto ended = std::async(std::launch::async, [&worker, open = UniqueFd(ends[1])]() mutable {
    const bool ok = worker.Run().has_value();
    open.Close();
    return ok;
  });
  while (!Interrupted() && !WaitForInput(over.get(), std::chrono::milliseconds(-1))) {
  }
  worker.Stop();
  return ended.get();
}

}  // namespace everstep::cli
