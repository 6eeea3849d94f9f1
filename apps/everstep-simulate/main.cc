#include <charconv>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "testing/simulation.h"

namespace everstep {
namespace {

constexpr int kExitOk = 0;
constexpr int kExitFound = 1;
constexpr int kExitUsage = 2;
constexpr std::size_t kTraceShown = 60;

struct Request {
  SimulationOptions options;
  std::uint64_t seeds = 1;
};

void PrintUsage(std::FILE* out) {
  std::fputs(
      "usage: everstep-simulate --seed N [--steps N] [--seeds COUNT] [--bug NAME]\n"
      "\n"
      "Runs the log on a disk that fails, with crashes, for one seed or COUNT of them, and checks\n"
      "that nothing acknowledged is lost. Exit code: 0 all is well, 1 a checker found something.\n"
      "\n"
      "  --seed N       the first seed\n"
      "  --steps N      steps in each run (400)\n"
      "  --seeds COUNT  how many seeds (1)\n"
      "  --bug NAME     plant a bug that the checkers must find:\n",
      out);
  for (const PlantedBug bug : kPlantedBugs) {
    std::fprintf(out, "                   %s\n", std::string(Name(bug)).c_str());
  }
}

std::optional<std::uint64_t> ParseNumber(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Says on standard error what is wrong.
std::optional<Request> ParseRequest(std::span<const char* const> words) {
  Request request;
  bool has_seed = false;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string_view name = words[i];
    const std::string_view value = i + 1 < words.size() ? words[i + 1] : "";
    const auto number = ParseNumber(value);
    const auto bug = PlantedBugNamed(value);
    if (name == "--bug" && bug) {
      request.options.bug = *bug;
    } else if (name == "--seed" && number) {
      request.options.seed = *number;
      has_seed = true;
    } else if (name == "--steps" && number) {
      request.options.steps = *number;
    } else if (name == "--seeds" && number) {
      request.seeds = *number;
    } else {
      std::fprintf(stderr, "everstep-simulate: cannot read '%s %s'\n", words[i],
                   std::string(value).c_str());
      return std::nullopt;
    }
  }
  if (has_seed) return request;
  std::fputs("everstep-simulate: --seed is missing\n", stderr);
  return std::nullopt;
}

// Runs the seed again, listening: the same options give the same run.
void PrintFailure(SimulationOptions options) {
  options.trace = true;
  const SimulationReport report = Simulate(options);
  const std::size_t first =
      report.trace.size() > kTraceShown ? report.trace.size() - kTraceShown : 0;
  if (first > 0) std::printf("  ... %zu lines before\n", first);
  for (std::size_t i = first; i < report.trace.size(); ++i) {
    std::printf("  %zu %s\n", i, report.trace[i].c_str());
  }
  std::printf("seed %llu found:\n", static_cast<unsigned long long>(options.seed));
  for (const std::string& finding : report.findings) std::printf("  %s\n", finding.c_str());
  std::printf("again: %s\n", ReproduceCommand(options).c_str());
}

void PrintCounts(const SimulationCounts& counts) {
  const auto print = [](const char* what, std::uint64_t count) {
    std::printf("  %-28s %llu\n", what, static_cast<unsigned long long>(count));
  };
  print("orders", counts.orders);
  print("events acknowledged", counts.events);
  print("duplicates", counts.duplicates);
  print("refused", counts.refused);
  print("answered: disk full", counts.store_full);
  print("answered: indeterminate", counts.indeterminate);
  print("answered: stopped", counts.store_stopped);
  print("cut off by a crash", counts.unanswered);
  print("crashes", counts.crashes);
  print("doubtful writes found", counts.doubtful_kept);
  print("doubtful writes not found", counts.doubtful_lost);
  print("runs purged", counts.purged);
  print("hook conflicts", counts.conflicts);
  print("runs brought to their end", counts.runs_ended);
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
  SimulationCounts counts;
  SimulationOptions options = request->options;
  for (std::uint64_t i = 0; i < request->seeds; ++i, ++options.seed) {
    const SimulationReport report = Simulate(options);
    if (!report.findings.empty()) {
      PrintFailure(options);
      return kExitFound;
    }
    counts += report.counts;
  }
  std::printf("%llu seeds from %llu, all is well\n",
              static_cast<unsigned long long>(request->seeds),
              static_cast<unsigned long long>(request->options.seed));
  PrintCounts(counts);
  return kExitOk;
}

}  // namespace
}  // namespace everstep

int main(int count, char** words) {
  const std::span<const char* const> all(words, static_cast<std::size_t>(count));
  return everstep::Main(all.subspan(count > 0 ? 1 : 0));
}
