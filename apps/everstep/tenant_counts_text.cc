#include "tenant_counts_text.h"

#include <iterator>

#include "output.h"

namespace everstep::cli {
namespace {

std::uint64_t RunsOf(const LogHealth& health) {
  std::uint64_t runs = 0;
  for (const std::uint64_t count : health.runs_by_status) runs += count;
  return runs;
}

}  // namespace

std::string CountsText(const LogHealth& health) {
  std::string by_status;
  for (std::size_t i = 0; i < std::size(kRunStatuses); ++i) {
    const std::uint64_t count = health.runs_by_status[i + 1];
    if (count == 0) continue;
    if (!by_status.empty()) by_status += ", ";
    by_status += std::to_string(count) + " " + std::string(kRunStatuses[i]);
  }
  if (!by_status.empty()) by_status = " (" + by_status + ")";
  return CountText(RunsOf(health), "run", "runs") + by_status + ", " +
         CountText(health.events, "event", "events");
}

void WriteCounts(const LogHealth& health, JsonWriter& json) {
  json.Key("counts");
  json.BeginObject();
  json.Member("runs", RunsOf(health));
  json.Member("events", health.events);
  json.Key("byStatus");
  json.BeginObject();
  for (std::size_t i = 0; i < std::size(kRunStatuses); ++i) {
    json.Member(kRunStatuses[i], health.runs_by_status[i + 1]);
  }
  json.EndObject();
  json.EndObject();
}

}  // namespace everstep::cli
