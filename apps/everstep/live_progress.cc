#include <algorithm>
#include <chrono>
#include <optional>

#include "progress.h"
#include "run_drawing.h"

namespace everstep::cli {
namespace {

constexpr std::chrono::milliseconds kRedrawEvery{100};
constexpr std::size_t kLinesOfTheShell = 2;  // the prompt, and room to see that there is one
constexpr std::size_t kLinesOfTheOutcome = 2;

class LiveProgress final : public Progress {
 public:
  LiveProgress(std::string deliver_command, Output& out)
      : drawing_(std::move(deliver_command)), out_(out) {}

  void Happened(const std::vector<LogEvent>&) override {}

  void Show(const RunView& view, SystemTime now) override {
    const auto instant = std::chrono::steady_clock::now();
    if (instant < next_) return;
    next_ = instant + kRedrawEvery;
    out_.RefreshLook();
    Redraw(drawing_.Lines(view, now, Room(kLinesOfTheShell), out_.look()));
  }

  void Say(std::string_view line) override {
    said_ += Shortened(line, out_.look().columns, out_.look()) + "\x1b[K\n";
    next_ = {};
    if (!finished_) return;
    out_.Write(line);
    out_.Write("\n");
    out_.Flush();
  }

  void Finish(const RunView& view, SystemTime now) override {
    Redraw(drawing_.Lines(view, now, Room(kLinesOfTheShell + kLinesOfTheOutcome), out_.look()));
    finished_ = true;
    out_.Write(OutcomeText(view, out_.look()));
    out_.Flush();
  }

 private:
  std::size_t Room(std::size_t below) const {
    const std::size_t rows = out_.look().rows;
    return rows > below + 2 ? rows - below : 2;
  }

  // Each line is written over the one before; what is left of the old drawing is cleared. Nothing
  // is cleared first, so nothing flickers. What was said stays above.
  void Redraw(const std::vector<std::string>& lines) {
    std::string text;
    // What was written to standard error stays, and the drawing begins anew below it.
    if (errors_seen_ != out_.errors_written()) drawn_ = 0;
    errors_seen_ = out_.errors_written();
    // Lines that have left the screen cannot be reached.
    const std::size_t up = std::min(drawn_, out_.look().rows - 1);
    if (up > 0) text += "\x1b[" + std::to_string(up) + "A\r";
    text += said_;
    said_.clear();
    for (const std::string& line : lines) text += line + "\x1b[K\n";
    text += "\x1b[J";
    out_.Write(text);
    out_.Flush();
    drawn_ = lines.size();
  }

  RunDrawing drawing_;
  Output& out_;
  std::string said_;       // not yet on the screen
  std::size_t drawn_ = 0;  // lines on the screen
  int errors_seen_ = 0;
  bool finished_ = false;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace

std::unique_ptr<Progress> MakeLiveProgress(std::string deliver_command, Output& out) {
  return std::make_unique<LiveProgress>(std::move(deliver_command), out);
}

}  // namespace everstep::cli
