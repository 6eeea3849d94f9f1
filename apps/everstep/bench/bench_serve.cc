#include <cstdio>

#include "bench/report.h"
#include "bench/serve_parts.h"
#include "commands.h"
#include "output.h"

namespace everstep::cli {
namespace {

constexpr std::string_view kParts[] = {"all",  "appends",   "batches", "one-step", "ten-step",
                                       "lone", "followers", "idle",    "fairness"};

constexpr OptionSpec kOptions[] = {
    {"only", OptionKind::kWord, "PART",
     "all, appends, batches, one-step, ten-step, lone, followers, idle or fairness", "all", kParts,
     false},
    {"events", OptionKind::kCount, "N", "events of the part appends", "240000", {}, false},
    {"batched", OptionKind::kCount, "N", "events of the part batches", "300000", {}, false},
    {"runs", OptionKind::kCount, "N", "runs of the part one-step", "20000", {}, false},
    {"ten-step-runs", OptionKind::kCount, "N", "runs of the part ten-step", "10000", {}, false},
    {"followers", OptionKind::kCount, "N", "followers of events, over SSE", "10000", {}, false},
    {"json", OptionKind::kText, "FILE", "add the results to this JSON array", "", {}, false},
    {"as-worker", OptionKind::kText, "URL", "be the worker for another bench", "", {}, false},
    {"slots", OptionKind::kCount, "N", "tasks at a time, for --as-worker", "512", {}, false},
};

ExitCode Run(const Arguments& arguments, Output& out) {
  if (!arguments.Text("as-worker").empty()) {
    const bool ok = ServeAsWorker(arguments.Text("as-worker"), arguments.Number("slots"));
    return ok ? ExitCode::kOk : ExitCode::kUsage;
  }
  std::vector<BenchReport> reports;
  const auto measure = [&](std::string_view part, const auto& run) {
    if (arguments.Text("only") != "all" && arguments.Text("only") != part) return;
    std::fprintf(stderr, "%s ...\n", std::string(part).c_str());
    run(reports.emplace_back("serve." + std::string(part)));
  };
  const auto number = [&](std::string_view option) {
    return static_cast<std::size_t>(arguments.Number(option));
  };
  measure("appends", [&](BenchReport& r) { ServeAppends(number("events"), r); });
  measure("batches", [&](BenchReport& r) { ServeBatches(number("batched"), r); });
  measure("one-step", [&](BenchReport& r) { ServeRuns(1, number("runs"), r); });
  measure("ten-step", [&](BenchReport& r) { ServeRuns(10, number("ten-step-runs"), r); });
  measure("lone", [&](BenchReport& r) { ServeLone(r); });
  measure("followers", [&](BenchReport& r) { ServeFollowers(number("followers"), r); });
  measure("idle", [&](BenchReport& r) { ServeIdle(r); });
  measure("fairness", [&](BenchReport& r) { ServeFairness(r); });
  return WriteReports(reports, arguments, out);
}

}  // namespace

const Command kBenchServe = {"bench serve",
                             "",
                             0,
                             0,
                             "Measure the server on this machine: requests, appends, remote work.",
                             "Starts servers as child processes and drives them over loopback. "
                             "Results are shown with their\ntargets; the limit is a bare request "
                             "(GET /livez), measured in the same run. Uses and removes\ntemporary "
                             "directories.",
                             kOptions,
                             Run};

}  // namespace everstep::cli
