#include "step_line.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

#include "snapshot_text.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kDurationColumns = 11;
constexpr std::size_t kBarColumns = 20;

struct Mark {
  std::string_view glyph;
  std::string_view ascii;
  Colour colour;
};

Mark SpinnerAt(std::size_t turn) {
  constexpr std::array<std::string_view, 10> kSpinner = {"⠋", "⠙", "⠹", "⠸", "⠼",
                                                         "⠴", "⠦", "⠧", "⠇", "⠏"};
  constexpr std::array<std::string_view, 4> kAscii = {"|", "/", "-", "\\"};
  if (turn == 0) return {"▶", ">", Colour::kCyan};
  return {kSpinner[turn % kSpinner.size()], kAscii[turn % kAscii.size()], Colour::kCyan};
}

Mark MarkOf(const StepView& step, std::size_t turn) {
  if (step.status == "SUCCESS") return {"✔", "+", Colour::kGreen};
  if (step.status == "FAILED") return {"✘", "x", Colour::kRed};
  if (step.status == "SKIPPED") return {"–", "-", Colour::kDim};
  if (!step.hook_token.empty()) return {"⚑", "?", Colour::kBlue};
  if (step.status == "RETRYING") return {"↻", "@", Colour::kYellow};
  if (step.status == "RUNNING" && step.wakes_at) return {"◷", "~", Colour::kYellow};
  if (step.status == "RUNNING") return SpinnerAt(turn);
  if (step.status == "PENDING") return {"○", "o", Colour::kYellow};
  return {"·", ".", Colour::kDim};
}

std::string TimeLeft(SystemTime until, SystemTime now) {
  return DurationText(std::max(until, now) - now);
}

std::string ErrorOf(const StepView& step) {
  return Printable(step.error_code) +
         (step.error_code.empty() || step.error_message.empty() ? "" : ": ") +
         Printable(step.error_message);
}

void AddDetail(const StepView& step, const StepStyle& style, StyledLine& line) {
  const auto say = [&line](Colour colour, std::string_view text) {
    line.Add("  ").Add(colour, text);
  };
  if (step.items_total > 0 && step.status != "WAITING")
    say(Colour::kCyan, ProgressBar(step, kBarColumns, style.look));
  if (step.status == "RETRYING" && step.wakes_at) {
    say(Colour::kYellow, "again in " + TimeLeft(*step.wakes_at, style.now));
  } else if (!step.hook_token.empty()) {
    say(Colour::kBlue, style.deliver_command + " " + Printable(step.hook_token));
    if (step.wakes_at) say(Colour::kDim, TimeLeft(*step.wakes_at, style.now) + " left");
  } else if (step.status == "RUNNING" && step.wakes_at) {
    say(Colour::kYellow, TimeLeft(*step.wakes_at, style.now) + " left");
  }
  if (!step.skip_code.empty()) say(Colour::kDim, Printable(step.skip_code));
  if (!step.child_run_id.empty()) say(Colour::kDim, "run " + Printable(step.child_run_id));
  const bool has_failed = step.status == "FAILED" || step.status == "RETRYING";
  if (has_failed && !ErrorOf(step).empty()) {
    say(step.status == "FAILED" ? Colour::kRed : Colour::kDim, ErrorOf(step));
  }
}

}  // namespace

std::string LabelOf(const StepView& step) {
  return Printable(step.name.empty() ? step.step_id : step.name);
}

std::string ProgressBar(const StepView& step, std::size_t columns, const Look& look) {
  const std::uint64_t total = std::max<std::uint64_t>(step.items_total, 1);
  const std::uint64_t done = std::min(step.items_done + step.items_failed, total);
  const auto filled = static_cast<std::size_t>(done * columns / total);
  std::string text = look.utf8 ? "" : "[";
  for (std::size_t i = 0; i < columns; ++i) {
    text += i < filled ? look.Glyph("█", "#") : look.Glyph("░", "-");
  }
  if (!look.utf8) text += "]";
  text += " " + std::to_string(done) + "/" + std::to_string(step.items_total);
  if (step.items_failed > 0) text += ", " + std::to_string(step.items_failed) + " failed";
  if (step.items_running > 0) text += ", " + std::to_string(step.items_running) + " running";
  return text;
}

StyledLine LineOfStep(const StepView& step, std::string_view indent, const StepStyle& style) {
  const Mark mark = MarkOf(step, style.turn);
  const bool is_quiet = step.status == "WAITING" || step.status == "SKIPPED";
  StyledLine line;
  line.Add(Colour::kDim, indent);
  line.Add(mark.colour, style.look.Glyph(mark.glyph, mark.ascii)).Add(" ");
  line.Add(is_quiet ? Colour::kDim : Colour::kPlain, LabelOf(step)).PadTo(style.name_columns);
  std::string took;
  if (step.started_at && step.status != "WAITING") {
    const SystemTime end = step.completed_at.value_or(style.now);
    took = DurationText(std::max(end, *step.started_at) - *step.started_at);
  }
  line.Add("  ").Add(Colour::kDim, took);
  const bool is_further = step.logical_attempt > 1;
  if (is_further) {
    line.PadTo(style.name_columns + 2 + kDurationColumns);
    line.Add(Colour::kYellow,
             " (" + std::to_string(step.logical_attempt) + "/" +
                 std::to_string(std::max(step.attempts_max, step.logical_attempt)) + ")");
  }
  AddDetail(step, style, line);
  return line;
}

}  // namespace everstep::cli
