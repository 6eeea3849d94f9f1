#include <charconv>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "testing/engine_simulation.h"
#include "testing/simulation.h"

namespace everstep {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFound = 1;
constexpr int kExitUsage = 2;
constexpr std::size_t kTraceShown = 60;

using Counts = std::vector<std::pair<const char*, std::uint64_t>>;

struct Request {
  bool engine = false;
  std::uint64_t seed = 0;
  std::uint64_t seeds = 0;  // 0: no seed was given
  std::uint64_t steps = 0;  // 0: the default of the simulation
  std::uint64_t trace_shown = kTraceShown;
  std::string bug = "none";
};

void PrintUsage(std::FILE* out) {
  std::fputs(
      "usage: everstep-simulate [--engine] --seed N [--steps N] [--bug NAME] [--trace LINES]\n"
      "       everstep-simulate [--engine] --seeds A..B [--steps N] [--bug NAME]\n"
      "\n"
      "Simulates the log, or with --engine the whole engine, with crashes and a failing disk, for\n"
      "one or more seeds, and checks that nothing acknowledged is lost and that every run reaches\n"
      "its end. Exit code: 0 no faults, 1 a checker found a fault, 2 invalid command line.\n"
      "\n"
      "  --engine       also simulate plans, workers, operators and the clock\n"
      "  --seed N       use this seed\n"
      "  --seeds A..B   use the seeds from A to B, including B\n"
      "  --steps N      steps in each simulation [default: 400 for the log, 300 for the engine]\n"
      "  --trace LINES  how many last lines of a failed trace to show [default: 60]\n"
      "  --bug NAME     plant a bug that the checkers must find. In the log:\n",
      out);
  for (const PlantedBug bug : kPlantedBugs) {
    std::fprintf(out, "                   %s\n", std::string(Name(bug)).c_str());
  }
  std::fputs("                 In the engine:\n", out);
  for (const EngineBug bug : kEngineBugs) {
    std::fprintf(out, "                   %s\n", std::string(Name(bug)).c_str());
  }
}

std::optional<std::uint64_t> ParseNumber(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool ParseSeeds(std::string_view text, Request& request) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return false;
  const auto first = ParseNumber(text.substr(0, dots));
  const auto last = ParseNumber(text.substr(dots + 2));
  if (!first || !last || *last < *first) return false;
  request.seed = *first;
  request.seeds = *last - *first + 1;
  return true;
}

bool ParseOption(std::string_view name, std::string_view value, Request& request) {
  const auto number = ParseNumber(value);
  if (name == "--seed" && number) {
    request.seed = *number;
    request.seeds = 1;
  } else if (name == "--steps" && number) {
    request.steps = *number;
  } else if (name == "--trace" && number) {
    request.trace_shown = *number;
  } else if (name == "--bug") {
    request.bug = value;
  } else {
    return name == "--seeds" && ParseSeeds(value, request);
  }
  return true;
}

// Parses the command line. Returns nothing, after a message on standard error, if it is invalid.
std::optional<Request> ParseRequest(std::span<const char* const> words) {
  Request request;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view name = words[i];
    if (name == "--engine") {
      request.engine = true;
      continue;
    }
    const std::string_view value = i + 1 < words.size() ? words[i + 1] : "";
    if (!ParseOption(name, value, request)) {
      std::fprintf(stderr, "everstep-simulate: invalid option '%s %s'\n", words[i],
                   std::string(value).c_str());
      return std::nullopt;
    }
    ++i;
  }
  const bool known = request.engine ? EngineBugNamed(request.bug).has_value()
                                    : PlantedBugNamed(request.bug).has_value();
  if (request.seeds > 0 && known) return request;
  std::fputs(known ? "everstep-simulate: --seed or --seeds is missing\n"
                   : "everstep-simulate: unknown --bug\n",
             stderr);
  return std::nullopt;
}

SimulationOptions LogOptions(const Request& request) {
  SimulationOptions options;
  options.bug = *PlantedBugNamed(request.bug);
  if (request.steps > 0) options.steps = request.steps;
  return options;
}

EngineSimulationOptions EngineOptions(const Request& request) {
  EngineSimulationOptions options;
  options.bug = *EngineBugNamed(request.bug);
  if (request.steps > 0) options.steps = request.steps;
  return options;
}

Counts CountsOf(const SimulationCounts& counts) {
  return {{"orders", counts.orders},
          {"events acknowledged", counts.events},
          {"duplicates", counts.duplicates},
          {"refused", counts.refused},
          {"answered: disk full", counts.store_full},
          {"answered: indeterminate", counts.indeterminate},
          {"answered: stopped", counts.store_stopped},
          {"cut off by a crash", counts.unanswered},
          {"crashes", counts.crashes},
          {"doubtful writes found", counts.doubtful_kept},
          {"doubtful writes not found", counts.doubtful_lost},
          {"runs purged", counts.purged},
          {"hook conflicts", counts.conflicts},
          {"runs brought to their end", counts.runs_ended}};
}

Counts CountsOf(const EngineSimulationCounts& counts) {
  return {{"runs", counts.runs},
          {"events", counts.events},
          {"deliveries made again", counts.redeliveries},
          {"late reports", counts.late_reports},
          {"lost workers", counts.lost_workers},
          {"steps undone", counts.undone},
          {"signals", counts.signals},
          {"hooks answered", counts.deliveries},
          {"crashes", counts.crashes},
          {"failed writes", counts.failed_writes},
          {"runs completed", counts.completed},
          {"runs failed", counts.failed},
          {"runs cancelled", counts.cancelled}};
}

void PrintTrace(const std::vector<std::string>& trace, std::size_t shown) {
  const std::size_t first = trace.size() > shown ? trace.size() - shown : 0;
  if (first > 0) std::printf("  ... %zu lines before\n", first);
  for (std::size_t i = first; i < trace.size(); ++i) {
    std::printf("  %zu %s\n", i, trace[i].c_str());
  }
}

// Simulates the seeds one after the other. A failing seed is simulated again with a trace: the same
// options give the same simulation.
template <typename Simulate, typename Options>
int RunSeeds(const Simulate& simulate, Options options, const Request& request) {
  decltype(simulate(options).counts) counts;
  for (std::uint64_t i = 0; i < request.seeds; ++i) {
    options.seed = request.seed + i;
    const auto report = simulate(options);
    counts += report.counts;
    if (report.findings.empty()) continue;
    options.trace = true;
    PrintTrace(simulate(options).trace, request.trace_shown);
    std::printf("seed %llu found:\n", static_cast<unsigned long long>(options.seed));
    for (const std::string& finding : report.findings) std::printf("  %s\n", finding.c_str());
    std::printf("to reproduce: %s\n", ReproduceCommand(options).c_str());
    return kExitFound;
  }
  std::printf("%llu seeds from %llu, no faults\n", static_cast<unsigned long long>(request.seeds),
              static_cast<unsigned long long>(request.seed));
  for (const auto& [what, count] : CountsOf(counts)) {
    std::printf("  %-28s %llu\n", what, static_cast<unsigned long long>(count));
  }
  return kExitOk;
}

int Main(std::span<const char* const> words) {
  if (words.size() == 1 && std::string_view(words[0]) == "--help") {
    PrintUsage(stdout);
    return kExitOk;
  }
  const auto request = ParseRequest(words);
  if (!request) {
    PrintUsage(stderr);
    return kExitUsage;
  }
  if (request->engine) return RunSeeds(SimulateEngine, EngineOptions(*request), *request);
  return RunSeeds(Simulate, LogOptions(*request), *request);
}

}  // namespace
}  // namespace everstep

int main(int count, char** words) {
  const std::span<const char* const> all(words, static_cast<std::size_t>(count));
  return everstep::Main(all.subspan(count > 0 ? 1 : 0));
}
