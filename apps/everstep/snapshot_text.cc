#include "snapshot_text.h"

#include <array>
#include <cstdio>

#include "base/timestamp.h"
#include "output.h"
#include "table.h"

namespace everstep::cli {
namespace {

std::string TimeTextOf(const std::optional<SystemTime>& time) {
  return time ? TimeText(*time) : std::string("-");
}

std::string FailureText(const StepSnapshot::Failure& failure) {
  return failure.code + (failure.code.empty() || failure.message.empty() ? "" : ": ") +
         failure.message;
}

std::string Counts(const RunSnapshot& snapshot) {
  const RunSnapshot::Counters& counters = snapshot.counters;
  std::string text = CountText(counters.steps, "step", "steps");
  const auto add = [&text](std::uint64_t count, const char* what) {
    if (count > 0) text += ", " + std::to_string(count) + " " + what;
  };
  add(counters.running, "running");
  add(counters.succeeded, "succeeded");
  add(counters.failed, "failed");
  add(counters.skipped, "skipped");
  add(counters.hooks_active, "open hooks");
  add(counters.waits_open, "open waits");
  add(counters.errors_open, "open errors");
  return text;
}

Facts HeaderOf(const RunSnapshot& snapshot) {
  Facts facts;
  facts.Add("run", Cell(snapshot.run_id, Colour::kBold));
  const std::string substatus = snapshot.substatus.empty() ? "" : " (" + snapshot.substatus + ")";
  facts.Add("status", Cell(snapshot.status + substatus, ColourOfStatus(snapshot.status)));
  if (!snapshot.message.empty()) facts.Add("", snapshot.message);
  if (snapshot.error) facts.Add("error", Cell(FailureText(*snapshot.error), Colour::kRed));
  facts.Add("plan", snapshot.plan_id + " " + snapshot.plan_version);
  facts.Add("scope",
            snapshot.tenant_id + "/" + snapshot.project_id + "/" + snapshot.environment_id);
  if (!snapshot.engine_run_ref.empty()) facts.Add("engine", snapshot.engine_run_ref);
  facts.Add("started", TimeTextOf(snapshot.started_at));
  if (snapshot.completed_at) {
    std::string text = TimeTextOf(snapshot.completed_at);
    if (snapshot.total_duration_ms) {
      text += " after " + DurationText(std::chrono::milliseconds(*snapshot.total_duration_ms));
    }
    facts.Add("ended", text);
  }
  facts.Add("events", std::to_string(snapshot.last_event_seq));
  facts.Add("counts", Counts(snapshot));
  if (snapshot.inconsistent) {
    facts.Add("warning", Cell("INCONSISTENT: an invalid stored event was ignored", Colour::kRed));
  }
  return facts;
}

}  // namespace

std::string TimeText(SystemTime time) {
  return FormatTimestamp(std::chrono::floor<std::chrono::milliseconds>(time));
}

std::string DurationText(std::chrono::microseconds duration) {
  const double seconds = static_cast<double>(duration.count()) / 1e6;
  std::array<char, 48> text;
  if (seconds < 1) {
    std::snprintf(text.data(), text.size(), "%.0f ms", seconds * 1e3);
  } else if (seconds < 120) {
    std::snprintf(text.data(), text.size(), "%.2f s", seconds);
  } else {
    const auto minutes = static_cast<long long>(seconds / 60);
    if (minutes < 120) {
      std::snprintf(text.data(), text.size(), "%lld min %02lld s", minutes,
                    static_cast<long long>(seconds) % 60);
    } else {
      std::snprintf(text.data(), text.size(), "%lld h %02lld min", minutes / 60, minutes % 60);
    }
  }
  return text.data();
}

std::string SnapshotText(const RunSnapshot& snapshot, const Look& look) {
  std::string text = HeaderOf(snapshot).Format(look);
  if (snapshot.steps.empty()) return text;
  Table steps({"STEP", "STATUS", "ATTEMPT", "STARTS", "STARTED", "TOOK", "ERROR"});
  for (const StepSnapshot& step : snapshot.steps) {
    const bool has_ended = step.started_at && step.completed_at;
    steps.Add({step.step_id, Cell(step.status, ColourOfStatus(step.status)),
               std::to_string(step.logical_attempt), std::to_string(step.attempts),
               TimeTextOf(step.started_at),
               has_ended ? DurationText(*step.completed_at - *step.started_at) : std::string("-"),
               Cell(step.error ? FailureText(*step.error) : "", Colour::kRed)});
  }
  return text + "\n" + steps.TakeText(look);
}

}  // namespace everstep::cli
