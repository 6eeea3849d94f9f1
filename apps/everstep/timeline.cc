#include "timeline.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>

#include "event_words.h"
#include "snapshot_text.h"

namespace everstep::cli {
namespace {

constexpr std::size_t kAxisColumns = 24;
constexpr std::size_t kNameColumnsMax = 32;
constexpr std::size_t kColumnsForAxis = 96;  // narrower terminals show no axis

struct Line {
  std::string offset;
  std::string name;
  std::string words;
  std::string took;
  std::string axis;
  const NativeEvent* event;
  EventWords drawing;
};

// A step and a hook may have the same id, so the key includes the first word of the type.
std::string SubjectOf(const NativeEvent& event) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto second = std::find_if(event.type.begin() + 1, event.type.end(), is_upper);
  return std::string(event.type.begin(), second) + " " + event.entity;
}

std::string OffsetText(std::chrono::microseconds offset) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%+.3f s", static_cast<double>(offset.count()) / 1e6);
  return text.data();
}

std::string Padded(std::string_view text, std::size_t columns) {
  const std::size_t width = ColumnsOf(text);
  return std::string(text) + std::string(columns > width ? columns - width : 0, ' ');
}

// Turns events into lines; remembers when each entity was last opened.
class Drawer {
 public:
  Drawer(const std::vector<NativeEvent>& events, const Look& look) : look_(look) {
    const auto [first, last] =
        std::ranges::minmax(events, {}, [](const NativeEvent& event) { return event.emitted_at; });
    begin_ = first.emitted_at;
    end_ = last.emitted_at;
  }

  Line LineOf(const NativeEvent& event) {
    Line line{
        OffsetText(event.emitted_at - begin_),
        Shortened(event.entity.empty() ? "run" : Printable(event.entity), kNameColumnsMax, look_),
        {},
        {},
        {},
        &event,
        WordsFor(event)};
    line.words = line.drawing.words;
    const bool again = event.type == "StepStarted" && event.attempt > 1;
    if (again) line.words += ", attempt " + std::to_string(event.attempt);

    std::optional<SystemTime> opened;
    const std::string subject = SubjectOf(event);
    if (line.drawing.part == EventWords::Part::kOpens) opened_[subject] = event.emitted_at;
    if (line.drawing.part == EventWords::Part::kCloses) {
      const auto found = opened_.find(subject);
      if (found != opened_.end()) opened = found->second;
    }
    if (opened) line.took = DurationText(event.emitted_at - *opened);
    line.axis = Axis(opened.value_or(event.emitted_at), event.emitted_at, line.drawing.colour,
                     opened.has_value());
    return line;
  }

 private:
  std::size_t ColumnOf(SystemTime time) const {
    const auto whole = (end_ - begin_).count();
    if (whole <= 0) return 0;
    const auto part = std::clamp<std::int64_t>((time - begin_).count(), 0, whole);
    return static_cast<std::size_t>(part * static_cast<std::int64_t>(kAxisColumns - 1) / whole);
  }

  std::string Axis(SystemTime from, SystemTime to, Colour colour, bool is_span) const {
    const auto repeated = [](std::string_view glyph, std::size_t count) {
      std::string text;
      for (; count > 0; --count) text += glyph;
      return text;
    };
    const std::string_view blank = look_.Glyph("·", ".");
    const std::string_view mark = is_span ? look_.Glyph("━", "=") : look_.Glyph("│", "|");
    const std::size_t last = ColumnOf(to);
    const std::size_t first = std::min(ColumnOf(from), last);
    return look_.Paint(Colour::kDim, repeated(blank, first)) +
           look_.Paint(colour, repeated(mark, last - first + 1)) +
           look_.Paint(Colour::kDim, repeated(blank, kAxisColumns - 1 - last));
  }

  const Look& look_;
  SystemTime begin_;
  SystemTime end_;
  std::map<std::string, SystemTime> opened_;
};

}  // namespace

std::string TimelineTitle(const RunSnapshot& snapshot, const Look& look) {
  std::string text = look.Paint(Colour::kBold, snapshot.run_id) + "  " +
                     look.Paint(ColourOfStatus(snapshot.status), snapshot.status);
  if (!snapshot.substatus.empty()) text += " (" + snapshot.substatus + ")";
  if (snapshot.total_duration_ms) {
    text += " after " + DurationText(std::chrono::milliseconds(*snapshot.total_duration_ms));
  }
  return text + "  " +
         look.Paint(Colour::kDim, "plan " + Printable(snapshot.plan_id) + " " +
                                      Printable(snapshot.plan_version)) +
         "\n";
}

std::string TimelineText(const RunSnapshot& snapshot, const std::vector<NativeEvent>& events,
                         const Look& look) {
  std::string text = TimelineTitle(snapshot, look);
  if (events.empty()) return text;
  Drawer drawer(events, look);
  std::vector<Line> lines;
  std::size_t offset = 0;
  std::size_t name = 0;
  std::size_t words = 0;
  std::size_t took = 0;
  for (const NativeEvent& event : events) {
    const Line& line = lines.emplace_back(drawer.LineOf(event));
    offset = std::max(offset, line.offset.size());
    name = std::max(name, ColumnsOf(line.name));
    words = std::max(words, ColumnsOf(line.words));
    took = std::max(took, line.took.size());
  }
  const bool has_axis = look.columns >= kColumnsForAxis;
  for (const Line& line : lines) {
    const EventWords& drawing = line.drawing;
    std::string row =
        look.Paint(Colour::kDim, std::string(offset - line.offset.size(), ' ') + line.offset);
    row += "  " + look.Paint(drawing.colour, look.Glyph(drawing.glyph, drawing.ascii)) + " ";
    row += Padded(line.name, name) + "  ";
    row += look.Paint(drawing.colour, Padded(line.words, words)) + "  ";
    row += Padded(line.took, took) + "  ";
    if (has_axis) row += line.axis + "  ";
    const std::size_t used = offset + name + words + took + 10 + (has_axis ? kAxisColumns + 2 : 0);
    const std::size_t left = look.columns > used + 8 ? look.columns - used : 8;
    row += look.Paint(Colour::kDim, Shortened(Printable(DetailOf(*line.event)), left, look));
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace everstep::cli
