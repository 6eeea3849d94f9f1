// Repeats one request, to measure any server on this machine.

#include <algorithm>
#include <optional>

#include "bench/load_client.h"
#include "bench/report.h"
#include "bench/workload.h"
#include "commands.h"
#include "interrupt.h"
#include "output.h"

namespace everstep::cli {
namespace {

constexpr std::uint64_t kInFlightMax = 10'000;

constexpr OptionSpec kOptions[] = {
    {"body", OptionKind::kText, "JSON", "POST this body; without it: GET", "", {}, false},
    {"expect", OptionKind::kText, "TEXT", "what every answer must contain", "", {}, false},
    {"in-flight", OptionKind::kCount, "N", "connections, each with one request", "64", {}, false},
    {"duration", OptionKind::kDuration, "TIME", "how long requests are sent", "5s", {}, false},
    {"json", OptionKind::kText, "FILE", "add the results to this JSON array", "", {}, false},
};

struct Target {
  std::string address;  // "127.0.0.1:7377"
  std::string path;
};

std::optional<Target> TargetOf(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return std::nullopt;
  url.remove_prefix(kScheme.size());
  const std::size_t end = std::min(url.find('/'), url.size());
  Target target{std::string(url.substr(0, end)), std::string(url.substr(end))};
  if (target.path.empty()) target.path = "/";
  return target;
}

struct Load {
  std::vector<double> millis;  // of each request
  double seconds = 0;
  double cpu_seconds = 0;  // of this process
  std::string failure;     // the first answer that was not as expected
};

Load SendFor(double seconds, const std::string& address, std::size_t in_flight,
             const std::string& request, std::string_view expected) {
  LoadClient client(address, in_flight);
  std::vector<double> sent_at(in_flight, 0);
  Load load;
  const double cpu = CpuSeconds();
  const double begin = WallSeconds();
  client.Run(
      [&](std::size_t number) -> std::optional<std::string_view> {
        sent_at[number] = WallSeconds();
        return request;
      },
      [&](std::size_t number, const LoadClient::Answer& answer) {
        load.millis.push_back((WallSeconds() - sent_at[number]) * 1e3);
        const bool is_good = answer.status >= 200 && answer.status < 300 &&
                             answer.body.find(expected) != std::string_view::npos;
        if (is_good || !load.failure.empty()) return;
        load.failure = "answered " + std::to_string(answer.status) + ": " +
                       std::string(answer.body.substr(0, 300));
      },
      [&] { return !load.failure.empty() || Interrupted() || WallSeconds() - begin >= seconds; });
  load.seconds = WallSeconds() - begin;
  load.cpu_seconds = CpuSeconds() - cpu;
  return load;
}

ExitCode Run(const Arguments& arguments, Output& out) {
  const std::string& url = arguments.operands().front();
  const auto target = TargetOf(url);
  const std::uint64_t in_flight = arguments.Number("in-flight");
  if (!target) return FailUsage(arguments.command(), "the URL must begin with http://, not " + url);
  if (in_flight == 0 || in_flight > kInFlightMax) {
    return FailUsage(arguments.command(), "--in-flight must be from 1 to 10000");
  }
  if (!ConnectTo(target->address)) {
    return Fail({ErrorCode::kServerUnavailable,
                 "cannot connect to " + target->address + "; it must be an IPv4 address and a port",
                 {}});
  }
  const std::string& body = arguments.Text("body");
  const std::string request =
      body.empty() ? LoadClient::Get(target->path) : LoadClient::Post(target->path, body);
  const double seconds = static_cast<double>(arguments.Duration("duration").count()) / 1e3;
  const Load load = SendFor(seconds, target->address, static_cast<std::size_t>(in_flight), request,
                            arguments.Text("expect"));
  if (!load.failure.empty()) {
    return Fail({ErrorCode::kServerUnavailable, url + " " + load.failure, {}});
  }
  if (load.millis.empty()) return ExitCode::kInterrupted;
  const auto requests = static_cast<double>(load.millis.size());
  BenchReport report("load");
  report.Add("requests", requests, "requests");
  report.Add("rate", requests / load.seconds, "requests/s");
  report.Add("p50", Quantile(load.millis, 0.5), "ms");
  report.Add("p99", Quantile(load.millis, 0.99), "ms");
  report.Add("client CPU", load.cpu_seconds / requests * 1e6, "µs/request");
  return WriteReports({&report, 1}, arguments, out);
}

}  // namespace

const Command kBenchLoad = {"bench load",
                            "URL",
                            1,
                            1,
                            "Repeat one request, to measure any HTTP server on this machine.",
                            "Sends the same request over HTTP/1.1 connections that stay open, the "
                            "next one when the last is\nanswered. Ends with exit code 10 at the "
                            "first answer that is not 2xx or lacks the expected text.",
                            kOptions,
                            Run};

}  // namespace everstep::cli
