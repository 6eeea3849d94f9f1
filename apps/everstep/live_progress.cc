#include <algorithm>
#include <chrono>
#include <optional>

#include "progress.h"
#include "run_drawing.h"

namespace everstep::cli {
namespace {

constexpr std::chrono::milliseconds kRedrawEvery{100};
constexpr std::size_t kShellLines = 2;  // the prompt and a line of space
constexpr std::size_t kOutcomeLines = 2;

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
    Redraw(drawing_.Lines(view, now, Room(kShellLines), out_.look()));
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
    Redraw(drawing_.Lines(view, now, Room(kShellLines + kOutcomeLines), out_.look()));
    finished_ = true;
    out_.Write(OutcomeText(view, out_.look()));
    out_.Flush();
  }

 private:
  std::size_t Room(std::size_t below) const {
    const std::size_t rows = out_.look().rows;
    return rows > below + 2 ? rows - below : 2;
  }

  // Overwrites the old drawing line by line and then clears what is left of it. Clearing it first
  // would flicker. Messages stay above the drawing.
  void Redraw(const std::vector<std::string>& lines) {
    std::string text;
    // Keep what was written to standard error; draw below it.
    if (errors_seen_ != out_.errors_written()) drawn_ = 0;
    errors_seen_ = out_.errors_written();
    // The cursor cannot reach lines that have scrolled off the screen.
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
  std::string said_;       // messages not yet on the screen
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
