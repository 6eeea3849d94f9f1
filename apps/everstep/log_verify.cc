#include <chrono>
#include <cstdio>
#include <string>

#include "base/json.h"
#include "commands.h"
#include "everstep/log.h"
#include "output.h"
#include "store_access.h"
#include "table.h"

namespace everstep::cli {
namespace {

constexpr OptionSpec kOptions[] = {
    kStoreOption,
    {"progress", OptionKind::kSwitch, "", "report progress even if stderr is not a terminal"},
    kOutputOption,
};

// Shows progress: on a terminal one line that is overwritten, elsewhere a line every two seconds.
class Progress {
 public:
  explicit Progress(bool wanted)
      : terminal_(ErrorLook().is_terminal), wanted_(wanted || terminal_) {}

  void Show(std::uint64_t runs, std::uint64_t events) {
    using Clock = std::chrono::steady_clock;
    const auto now = Clock::now();
    if (!wanted_ ||
        (shown_ && now - shown_at_ < std::chrono::milliseconds(terminal_ ? 100 : 2000))) {
      return;
    }
    shown_ = true;
    shown_at_ = now;
    const std::string text =
        "checked " + CountText(runs, "run", "runs") + ", " + CountText(events, "event", "events");
    std::fprintf(stderr, terminal_ ? "\r%s" : "%s\n", text.c_str());
  }
  void Clear() const {
    if (shown_ && terminal_) std::fputs("\r\x1b[K", stderr);
  }

 private:
  const bool terminal_;
  const bool wanted_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point shown_at_{};
};

std::string JsonOf(const VerifyReport& report) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Member("runs", report.runs);
  json.Member("events", report.events);
  json.Key("findings");
  json.BeginArray();
  for (const VerifyReport::Finding& finding : report.findings) {
    json.BeginObject();
    if (!finding.run_id.empty()) json.Member("runId", finding.run_id);
    json.Member("what", finding.what);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return text;
}

std::string TextOf(const VerifyReport& report, const Look& look) {
  const std::string checked =
      CountText(report.runs, "run", "runs") + " and " + CountText(report.events, "event", "events");
  if (report.findings.empty()) {
    return look.Paint(Colour::kGreen, "no faults") + " in " + checked + "\n";
  }
  Table table({"RUN", "FAULT"});
  for (const VerifyReport::Finding& finding : report.findings) {
    table.Add({finding.run_id.empty() ? "-" : finding.run_id, finding.what});
  }
  const std::string count = CountText(report.findings.size(), "fault", "faults");
  return table.TakeText(look) + look.Paint(Colour::kRed, count) + " in " + checked + "\n";
}

ExitCode Run(const Arguments& arguments, Output& out) {
  const auto log = OpenToRead(arguments);
  if (!log) return Fail(log.error());
  Progress progress(arguments.Has("progress"));
  const auto report = (*log)->Verify(
      [&](std::uint64_t runs, std::uint64_t events) { progress.Show(runs, events); });
  progress.Clear();
  if (!report) return Fail(report.error());
  const OutputForm form = FormOf(arguments);
  if (form == OutputForm::kTable) {
    out.Write(TextOf(*report, out.look()));
  } else {
    WriteDocument(form, JsonOf(*report), out);
  }
  return report->findings.empty() ? ExitCode::kOk : ExitCode::kFaults;
}

}  // namespace

const Command kLogVerify{
    "log verify",
    "",
    0,
    0,
    "Check every invariant of a store: replay each run and compare, check each index.",
    "Exits with 7 if it finds a fault. Changes nothing; another process may write meanwhile.",
    kOptions,
    Run,
};

}  // namespace everstep::cli
