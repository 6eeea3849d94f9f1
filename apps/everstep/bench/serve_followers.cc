#include <sys/resource.h>
#include <sys/socket.h>

#include <cstdio>

#include "base/assert.h"
#include "bench/bench_child.h"
#include "bench/load_client.h"
#include "bench/serve_parts.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kOtherFiles = 300;  // of the server, mostly of its store

// Raises the limit of open files for this process and its children. Returns the new limit.
std::size_t RaiseFileLimit() {
  rlimit limit{};
  EVERSTEP_ASSERT(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  EVERSTEP_ASSERT(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  return limit.rlim_cur;
}

// Reads until the stream has begun. Returns false if it ends before.
bool Begins(int fd) {
  std::string input;
  while (input.find("retry:") == std::string::npos) {
    char buffer[2048];
    const ssize_t count = ::recv(fd, buffer, sizeof(buffer), 0);
    if (count <= 0) return false;
    input.append(buffer, static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

void ServeFollowers(std::size_t followers, BenchReport& report) {
  const std::size_t files = RaiseFileLimit();
  std::size_t possible = followers;
  if (files < followers + kOtherFiles) {
    possible = files > kOtherFiles ? files - kOtherFiles : 0;
    std::fprintf(stderr, "everstep: the limit of open files is %zu: %zu followers\n", files,
                 possible);
  }
  const BenchServer server;
  const double before = server.ResidentMegabytes();
  const std::string request =
      "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n";
  std::vector<UniqueFd> open;
  for (std::size_t i = 0; i < possible; ++i) {
    UniqueFd fd = ConnectTo(server.address());
    if (!fd || ::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) break;
    open.push_back(std::move(fd));
    // Connect some ahead, so that neither side waits for each connection.
    constexpr std::size_t kAhead = 64;
    if (i >= kAhead && !Begins(open[i - kAhead].get())) break;
  }
  report.AtLeast("idle followers (SSE)", static_cast<double>(open.size()), "",
                 static_cast<double>(followers));
  report.AtMost("server, resident", server.ResidentMegabytes(), "MB", 300);
  report.Add("per follower",
             (server.ResidentMegabytes() - before) * 1024 / static_cast<double>(open.size()), "KB");
}

void ServeIdle(BenchReport& report) {
  std::vector<double> seconds;
  double resident = 0;
  for (int round = 0; round < 3; ++round) {
    const BenchServer server;
    LoadClient client(server.address(), 1);
    (void)client.Call(LoadClient::Get("/readyz"), 200);
    seconds.push_back(server.ready_seconds());
    resident = server.ResidentMegabytes();
  }
  report.AtMost("start to ready, empty store", Quantile(seconds, 0.5), "s", 0.3);
  report.AtMost("idle server, resident", resident, "MB", 40);
}

}  // namespace everstep::cli
