#pragma once

#include <cstddef>
#include <string>

#include "bench/report.h"

namespace everstep::cli {

// Each function starts its own server as a child process and drives it over loopback, unless it
// takes a server.

// Measures GET /livez as the limit, and durable appends with one event per request.
void ServeAppends(std::size_t events, BenchReport& report);
// Measures appends in batches of a hundred.
void ServeBatches(std::size_t events, BenchReport& report);
// Appends to a server in batches of a hundred over 64 connections. The runs are numbered from
// `first_run` on.
class BenchServer;
struct AppendedBatches {
  std::size_t runs = 0;
  std::size_t events = 0;
  double seconds = 0;
};
AppendedBatches AppendInBatches(const BenchServer& server, std::size_t events,
                                std::size_t first_run);
// Measures runs of `steps` steps with a worker process: first with a bounded number in flight, then
// with clients that wait for the end.
void ServeRuns(std::size_t steps, std::size_t runs, BenchReport& report);
// Measures one client with one run at a time, compared with a raw synced write.
void ServeLone(BenchReport& report);
// Measures followers of events while there are no events.
void ServeFollowers(std::size_t followers, BenchReport& report);
// Measures start and memory of an idle server.
void ServeIdle(BenchReport& report);
// Measures how long a probe and cheap requests of one tenant take while another tenant sends the
// most expensive requests.
void ServeFairness(BenchReport& report);

// The worker process of ServeRuns. Runs until it is killed or interrupted.
bool ServeAsWorker(const std::string& url, std::size_t slots);

}  // namespace everstep::cli
