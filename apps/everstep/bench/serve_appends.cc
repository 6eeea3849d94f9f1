#include <algorithm>

#include "base/assert.h"
#include "bench/bench_child.h"
#include "bench/load_client.h"
#include "bench/serve_parts.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kConnections = 64;
// Both kinds of requests alternate, since the load on the machine may change. A turn lasts about a
// third of a second, so that its start on new connections is a small part of it.
constexpr std::size_t kTurns = 12;
constexpr std::size_t kHellosPerTurn = 45'000;
constexpr std::string_view kTarget = "/v1/events?dialect=contract";

struct Rate {
  double requests = 0;
  double seconds = 0;
  double server_cpu_seconds = 0;
  std::vector<double> micros;  // of each request

  double per_second() const { return requests / seconds; }
  double server_cpu_micros() const { return server_cpu_seconds / requests * 1e6; }
  double p50_micros() const { return Quantile(micros, 0.5); }
  void Add(const Rate& other) {
    requests += other.requests;
    seconds += other.seconds;
    server_cpu_seconds += other.server_cpu_seconds;
    micros.insert(micros.end(), other.micros.begin(), other.micros.end());
  }
};

// Sends the requests: each connection sends its own list, in order.
Rate Measure(const BenchServer& server, const std::vector<std::vector<std::string>>& requests,
             int expected_status) {
  LoadClient client(server.address(), requests.size());
  std::vector<std::size_t> next(requests.size(), 0);
  std::vector<double> sent_at(requests.size(), 0);
  std::vector<double> micros;
  std::size_t total = 0;
  for (const auto& list : requests) total += list.size();
  micros.reserve(total);
  const double cpu = server.CpuSeconds();
  const double begin = WallSeconds();
  client.Run(
      [&](std::size_t number) -> std::optional<std::string_view> {
        if (next[number] == requests[number].size()) return std::nullopt;
        sent_at[number] = WallSeconds();
        return requests[number][next[number]++];
      },
      [&](std::size_t number, const LoadClient::Answer& answer) {
        EVERSTEP_ASSERT(answer.status == expected_status);
        // A batch is answered with the same status if some of its events were refused.
        EVERSTEP_ASSERT(expected_status != 200 ||
                        answer.body.find("\"code\"") == std::string_view::npos);
        micros.push_back((WallSeconds() - sent_at[number]) * 1e6);
      },
      [&] { return micros.size() == total; });
  return {static_cast<double>(total), WallSeconds() - begin, server.CpuSeconds() - cpu,
          std::move(micros)};
}

// Requests that append runs of ten steps; each connection has its own runs.
std::vector<std::vector<std::string>> Appends(std::size_t events, std::size_t batch,
                                              std::size_t first_run = 0) {
  std::vector<std::vector<std::string>> requests(kConnections);
  const std::size_t runs =
      std::max<std::size_t>(1, events / Workload::kEventsPerRun / kConnections);
  for (std::size_t number = 0; number < kConnections; ++number) {
    Workload work("default");
    for (std::size_t run = 0; run < runs; ++run) {
      work.AddRun(first_run + run * kConnections + number);
    }
    for (std::size_t from = 0; from < work.size(); from += batch) {
      std::string body;
      for (const std::string_view event : work.Batch(from, batch)) {
        body.append(body.empty() ? "" : ",").append(event);
      }
      if (batch > 1) body = "[" + body + "]";
      requests[number].push_back(LoadClient::Post(kTarget, body));
    }
  }
  return requests;
}

Rate Hello(const BenchServer& server) {
  const std::vector<std::string> list(kHellosPerTurn / kConnections, LoadClient::Get("/livez"));
  return Measure(server, std::vector(kConnections, list), 200);
}

}  // namespace

void ServeAppends(std::size_t events, BenchReport& report) {
  const BenchServer server;
  Rate limit;
  Rate appends;
  for (std::size_t turn = 0; turn < kTurns; ++turn) {
    limit.Add(Hello(server));
    const std::size_t first_run = turn * events;  // more than the runs of a turn
    appends.Add(Measure(server, Appends(events / kTurns, 1, first_run), 201));
  }
  report.Add("limit: GET /livez, 64 connections", limit.per_second(), "requests/s");
  report.Add("limit: server CPU", limit.server_cpu_micros(), "µs/request");
  report.Add("single durable appends, 64 connections", appends.per_second(), "events/s");
  report.AtLeast("appends / limit", appends.per_second() / limit.per_second() * 100, "%", 40);
  report.Add("server CPU", appends.server_cpu_micros(), "µs/event");
  report.Add("append answered, p50", appends.p50_micros(), "µs");
}

AppendedBatches AppendInBatches(const BenchServer& server, std::size_t events,
                                std::size_t first_run) {
  constexpr std::size_t kBatch = 100;
  const auto requests = Appends(events, kBatch, first_run);
  const double begin = WallSeconds();
  (void)Measure(server, requests, 200);
  const std::size_t runs =
      std::max<std::size_t>(1, events / Workload::kEventsPerRun / kConnections) * kConnections;
  return {runs, runs * Workload::kEventsPerRun, WallSeconds() - begin};
}

void ServeBatches(std::size_t events, BenchReport& report) {
  constexpr std::size_t kBatch = 100;
  const BenchServer server;
  const auto requests = Appends(events, kBatch);
  std::size_t sent = 0;
  for (const auto& list : requests) sent += list.size();
  const Rate batches = Measure(server, requests, 200);
  // The last batch of a connection may be smaller.
  const std::size_t runs =
      std::max<std::size_t>(1, events / Workload::kEventsPerRun / kConnections) * kConnections;
  const double per_batch =
      static_cast<double>(runs * Workload::kEventsPerRun) / static_cast<double>(sent);
  report.AtLeast("appends in batches of 100, 64 connections", batches.per_second() * per_batch,
                 "events/s", 120'000);
  report.Add("server CPU", batches.server_cpu_micros() / per_batch, "µs/event");
  report.Add("batch answered, p50", batches.p50_micros(), "µs");
}

}  // namespace everstep::cli
