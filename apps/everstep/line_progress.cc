#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/json.h"
#include "base/timestamp.h"
#include "event_words.h"
#include "json_layout.h"
#include "progress.h"
#include "run/activity_table.h"
#include "run_drawing.h"
#include "step_line.h"

namespace everstep::cli {
namespace {

constexpr std::uint64_t kTenths = 10;  // the progress of a loop is reported in tenths
constexpr std::size_t kNameColumns = 20;

// The time of day in UTC: "12:30:05.123".
std::string ClockText(SystemTime time) {
  const std::string whole = FormatTimestamp(std::chrono::floor<std::chrono::milliseconds>(time));
  return whole.size() > 23 ? whole.substr(11, 12) : whole;
}

class LineProgress final : public Progress {
 public:
  LineProgress(std::string deliver_command, Output& out)
      : deliver_command_(std::move(deliver_command)), out_(out) {}

  void Happened(const std::vector<LogEvent>& events) override {
    for (const LogEvent& event : events) Print(ReadNative(event));
    if (!events.empty()) out_.Flush();
  }

  void Show(const RunView& view, SystemTime now) override {
    for (const StepView& step : view.steps) {
      if (step.items_total == 0) continue;
      const std::uint64_t done = step.items_done + step.items_failed;
      const std::uint64_t tenths = done * kTenths / step.items_total;
      std::uint64_t& reported = reported_[step.step_id];
      if (tenths <= reported) continue;
      reported = tenths;
      Line(now, {"", "·", ".", Colour::kCyan, "", EventWords::Part::kNeither}, LabelOf(step),
           ProgressBar(step, kTenths, out_.look()));
    }
    out_.Flush();
  }

  void Say(std::string_view line) override {
    out_.Write(std::string(line) + "\n");
    out_.Flush();
  }

  void Finish(const RunView& view, SystemTime) override {
    out_.Write(OutcomeText(view, out_.look()));
    out_.Flush();
  }

 private:
  // Prints what matters to a reader of a log file: not the engine's own timers, and of the items of
  // a loop only failures.
  void Print(const NativeEvent& event) {
    constexpr std::string_view kOmitted[] = {
        "StepScheduled", "ToolStarted",          "ToolProcessed",         "HookDisposed",
        "LoopFinished",  "LoopIterationStarted", "LoopIterationFinished", "ContextUpdated"};
    if (std::ranges::find(kOmitted, event.type) != std::end(kOmitted)) return;
    std::string name = event.entity;
    std::string detail = DetailOf(event);
    const Purpose purpose = PurposeOf(event.entity);
    const bool is_wait = event.type.starts_with("Wait");
    if (is_wait && purpose.what != "wait" && !purpose.what.empty()) return;
    if (!purpose.what.empty() && !event.type.starts_with("Step")) name = purpose.activity_id;
    if (event.type.starts_with("Signal")) name.clear();  // its id says nothing to people
    if (is_wait && name == "start") name.clear();        // a run that was to begin later
    if (event.type.starts_with("Step") && IsItem(name) && event.type != "StepFailed") return;
    const EventWords words = WordsFor(event);
    std::string text(words.words);
    if (event.type == "StepStarted" && event.attempt > 1) {
      text += ", attempt " + std::to_string(event.attempt);
    }
    if (event.type == "HookCreated") {
      const auto token = RawMember(event.payload, "token");
      if (token) detail = deliver_command_ + " " + PlainText(*token);
    }
    if (!detail.empty()) text += ": " + detail;
    Line(event.persisted_at, words, name.empty() ? "run" : name, text);
  }

  // "fetch:3" is the fourth iteration of the loop "fetch".
  static bool IsItem(std::string_view name) {
    const std::size_t colon = name.rfind(':');
    return colon != std::string_view::npos && colon + 1 < name.size() &&
           name.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  }

  void Line(SystemTime at, const EventWords& words, std::string_view name, std::string_view text) {
    const Look& look = out_.look();
    std::string line = look.Paint(Colour::kDim, ClockText(at)) + "  ";
    line += look.Paint(words.colour, look.Glyph(words.glyph, words.ascii)) + " ";
    const std::string shown = Printable(name);
    line += shown + std::string(kNameColumns - std::min(ColumnsOf(shown), kNameColumns), ' ');
    out_.Write(line + "  " + Printable(text) + "\n");
  }

  const std::string deliver_command_;
  Output& out_;
  std::map<std::string, std::uint64_t> reported_;  // tenths of loops, by step
};

class EventProgress final : public Progress {
 public:
  explicit EventProgress(Output& out) : out_(out) {}

  void Happened(const std::vector<LogEvent>& events) override {
    for (const LogEvent& event : events) out_.Write(event.json + "\n");
    if (!events.empty()) out_.Flush();
  }
  void Show(const RunView&, SystemTime) override {}
  void Say(std::string_view line) override { out_.WriteError(std::string(line) + "\n"); }
  void Finish(const RunView&, SystemTime) override { out_.Flush(); }

 private:
  Output& out_;
};

class QuietProgress final : public Progress {
 public:
  explicit QuietProgress(Output& out) : out_(out) {}

  void Happened(const std::vector<LogEvent>&) override {}
  void Show(const RunView&, SystemTime) override {}
  void Say(std::string_view line) override { out_.WriteError(std::string(line) + "\n"); }
  void Finish(const RunView& view, SystemTime) override {
    out_.Write(OutcomeText(view, out_.look()));
    out_.Flush();
  }

 private:
  Output& out_;
};

}  // namespace

std::unique_ptr<Progress> MakeLineProgress(std::string deliver_command, Output& out) {
  return std::make_unique<LineProgress>(std::move(deliver_command), out);
}
std::unique_ptr<Progress> MakeEventProgress(Output& out) {
  return std::make_unique<EventProgress>(out);
}
std::unique_ptr<Progress> MakeQuietProgress(Output& out) {
  return std::make_unique<QuietProgress>(out);
}

}  // namespace everstep::cli
