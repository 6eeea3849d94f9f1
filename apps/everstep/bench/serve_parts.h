#pragma once

#include <cstddef>
#include <string>

#include "bench/report.h"

namespace everstep::cli {

// Each starts a server of its own, as another process, and drives it over loopback.

// The bare server (GET /livez) as the limit; then durable appends, one event a request.
void ServeAppends(std::size_t events, BenchReport& report);
// Batches of a hundred.
void ServeBatches(std::size_t events, BenchReport& report);
// Appends to a server in batches of a hundred over 64 connections; its runs are numbered from
// `first_run` on.
class BenchServer;
struct AppendedBatches {
  std::size_t runs = 0;
  std::size_t events = 0;
  double seconds = 0;
};
AppendedBatches AppendInBatches(const BenchServer& server, std::size_t events,
                                std::size_t first_run);
// Runs of `steps` steps by a worker process: a bounded number in flight, then clients that wait.
void ServeRuns(std::size_t steps, std::size_t runs, BenchReport& report);
// One client, one run at a time, beside a raw synced write.
void ServeLone(BenchReport& report);
// Followers of events that see none.
void ServeFollowers(std::size_t followers, BenchReport& report);
void ServeIdle(BenchReport& report);
// How long a probe and a cheap request of one tenant wait while another asks for the worst.
void ServeFairness(BenchReport& report);

// The worker process of ServeRuns; until it is killed or interrupted.
bool ServeAsWorker(const std::string& url, std::size_t slots);

}  // namespace everstep::cli
