#include "gantt.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/json.h"
#include "json_layout.h"
#include "output.h"
#include "run/activity_table.h"
#include "snapshot_text.h"

namespace everstep::cli {
namespace {

constexpr std::string_view kRunRow = "run";
constexpr std::size_t kNameColumnsMax = 28;
constexpr std::size_t kTailColumns = 24;  // duration and attempts after the bar
constexpr std::size_t kBarColumnsMin = 10;
constexpr std::size_t kBarColumnsMax = 100;
constexpr std::size_t kBarColumnsInText = 60;  // if the output is not a terminal
constexpr std::size_t kTickColumns = 16;

// "fetch:3" is an iteration of the loop "fetch".
bool IsItem(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  return colon != std::string_view::npos && colon + 1 < name.size() &&
         name.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
}

bool WillRetry(const NativeEvent& event) {
  const auto member = RawMember(event.payload, "willRetry");
  return member && *member == "true";
}

}  // namespace

void Gantt::Add(const NativeEvent& event) {
  if (rows_.empty()) begin_ = event.emitted_at;
  last_ = std::max(last_, event.emitted_at);
  if (event.type.starts_with("Run")) {
    AddRun(event);
  } else if (event.type.starts_with("Step")) {
    if (items_ || !IsItem(event.entity)) AddStep(event);
  } else if (event.type.starts_with("Wait") || event.type.starts_with("Hook")) {
    AddWait(event);
  }
}

Gantt::Row& Gantt::RowOf(std::string_view name) {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return rows_[found->second];
  by_name_.emplace(name, rows_.size());
  Row& row = rows_.emplace_back();
  row.name = name;
  return row;
}

void Gantt::Open(Row& row, Kind kind, SystemTime at) {
  row.bars.push_back({kind, at, at, true, false});
}

void Gantt::Close(Row& row, Kind open_kind, Kind closed_as, SystemTime at) {
  for (auto bar = row.bars.rbegin(); bar != row.bars.rend(); ++bar) {
    if (!bar->open || bar->kind != open_kind) continue;
    bar->open = false;
    bar->to = at;
    bar->kind = closed_as;
    return;
  }
}

void Gantt::AddRun(const NativeEvent& event) {
  Row& row = RowOf(kRunRow);
  const SystemTime at = event.emitted_at;
  if (event.type == "RunQueued") Open(row, Kind::kQueued, at);
  if (event.type == "RunStarted") {
    Close(row, Kind::kQueued, Kind::kQueued, at);
    Open(row, Kind::kRuns, at);
  }
  if (event.type == "RunPaused") Open(row, Kind::kWaits, at);
  if (event.type == "RunResumed") Close(row, Kind::kWaits, Kind::kWaits, at);
  const bool ends =
      event.type == "RunCompleted" || event.type == "RunFailed" || event.type == "RunCancelled";
  if (!ends) return;
  ended_ = true;
  row.status = event.type.substr(3);
  for (const Kind kind : {Kind::kQueued, Kind::kWaits}) Close(row, kind, kind, at);
  Close(row, Kind::kRuns, event.type == "RunCompleted" ? Kind::kSucceeded : Kind::kFailed, at);
}

void Gantt::AddStep(const NativeEvent& event) {
  Row& row = RowOf(event.entity);
  const SystemTime at = event.emitted_at;
  if (event.type == "StepScheduled") Open(row, Kind::kQueued, at);
  if (event.type == "StepStarted") {
    Close(row, Kind::kQueued, Kind::kQueued, at);
    Close(row, Kind::kWaits, Kind::kWaits, at);
    Close(row, Kind::kRuns, Kind::kFailed, at);  // its delivery was lost
    Open(row, Kind::kRuns, at);
    row.bars.back().attempt = ++row.attempts > 1;
  }
  if (event.type == "StepCompleted") {
    Close(row, Kind::kRuns, Kind::kSucceeded, at);
    row.status = "SUCCESS";
  }
  if (event.type == "StepFailed") {
    Close(row, Kind::kRuns, Kind::kFailed, at);
    row.status = WillRetry(event) ? "" : "FAILED";
    if (WillRetry(event)) Open(row, Kind::kWaits, at);
  }
  if (event.type == "StepSkipped") {
    Close(row, Kind::kQueued, Kind::kQueued, at);
    row.status = "SKIPPED";
  }
}

// The names of waits and hooks contain the step that waits: "wait:pause:1". Retry delays are drawn
// from the failures before them; timeouts are not drawn.
void Gantt::AddWait(const NativeEvent& event) {
  const Purpose purpose = PurposeOf(event.entity);
  if (purpose.what == "retry" || purpose.what == "timeout") return;
  const bool is_start = event.entity == "start";  // of a run with a delayed start
  const std::string_view name = is_start               ? kRunRow
                                : purpose.what.empty() ? event.entity
                                                       : purpose.activity_id;
  if (name.empty() || (!items_ && IsItem(name))) return;
  Row& row = RowOf(name);
  if (event.type == "WaitCreated" || event.type == "HookCreated") {
    Open(row, Kind::kWaits, event.emitted_at);
  } else if (event.type == "WaitCompleted" || event.type == "HookReceived" ||
             event.type == "HookDisposed") {
    Close(row, Kind::kWaits, Kind::kWaits, event.emitted_at);
  }
}

std::size_t Gantt::Scale::ColumnOf(SystemTime time) const {
  const auto whole = (end - begin).count();
  if (whole <= 0) return 0;
  const auto part = std::clamp<std::int64_t>((time - begin).count(), 0, whole);
  return static_cast<std::size_t>(part * static_cast<std::int64_t>(columns - 1) / whole);
}

std::string Gantt::Line(const Row& row, const Scale& scale, std::size_t names,
                        const Look& look) const {
  struct Piece {
    std::string_view glyph;
    std::string_view ascii;
    Colour colour;
  };
  constexpr std::array<Piece, 5> kPieces = {{{"╌", ".", Colour::kDim},
                                             {"█", "#", Colour::kCyan},
                                             {"█", "#", Colour::kGreen},
                                             {"█", "x", Colour::kRed},
                                             {"▒", "~", Colour::kYellow}}};
  constexpr Piece kBlank{" ", " ", Colour::kPlain};
  std::vector<Piece> cells(scale.columns, kBlank);
  std::chrono::microseconds took{0};
  // Draw waits over the bar of the step that waits.
  for (const bool waits : {false, true}) {
    for (const Bar& bar : row.bars) {
      if ((bar.kind == Kind::kWaits) != waits) continue;
      const SystemTime to = bar.open ? scale.end : bar.to;
      const std::size_t first = scale.ColumnOf(bar.from);
      const Piece& piece = kPieces[static_cast<std::size_t>(bar.kind)];
      std::fill(cells.begin() + static_cast<std::ptrdiff_t>(first),
                cells.begin() + static_cast<std::ptrdiff_t>(scale.ColumnOf(to)) + 1, piece);
    }
  }
  for (const Bar& bar : row.bars) {
    const std::size_t first = scale.ColumnOf(bar.from);
    const Colour colour = kPieces[static_cast<std::size_t>(bar.kind)].colour;
    if (bar.attempt && first > 0) cells[first] = {"┃", "|", colour};
  }
  for (const Bar& bar : row.bars) {
    took = std::max(took, (bar.open ? scale.end : bar.to) - row.bars.front().from);
  }
  const std::string name = Shortened(Printable(row.name), names, look);
  std::string text = name + std::string(names - ColumnsOf(name), ' ') + "  ";
  for (std::size_t i = 0; i < cells.size();) {
    std::string same;
    const Colour colour = cells[i].colour;
    for (; i < cells.size() && cells[i].colour == colour; ++i) {
      same += look.Glyph(cells[i].glyph, cells[i].ascii);
    }
    text += look.Paint(colour, same);
  }
  std::string tail = row.bars.empty() ? "" : DurationText(took);
  if (row.attempts > 1) tail += ", " + std::to_string(row.attempts) + " attempts";
  if (row.status == "SKIPPED" || row.status == "FAILED")
    tail += (tail.empty() ? "" : ", ") + std::string(row.status == "FAILED" ? "failed" : "skipped");
  text += "  " + look.Paint(ColourOfStatus(row.status), tail);
  return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}

std::string Gantt::Axis(const Scale& scale, std::size_t names, const Look& look) {
  std::string labels;
  for (std::size_t column = 0; column + 8 <= scale.columns; column += kTickColumns) {
    const auto at = (scale.end - scale.begin) * static_cast<std::int64_t>(column) /
                    static_cast<std::int64_t>(std::max<std::size_t>(scale.columns - 1, 1));
    labels.resize(column, ' ');
    labels += std::string("|") + DurationText(at);
  }
  return look.Paint(Colour::kDim, std::string(names + 2, ' ') + labels) + "\n";
}

std::string Gantt::Text(SystemTime now, std::size_t rows_max, const Look& look) const {
  std::size_t names = kRunRow.size();
  for (const Row& row : rows_) names = std::max(names, ColumnsOf(Printable(row.name)));
  names = std::min(names, std::min(kNameColumnsMax, std::max<std::size_t>(look.columns / 4, 8)));
  const std::size_t used = names + 2 + kTailColumns;
  const std::size_t room = look.columns > used ? look.columns - used : 0;
  const Scale scale{
      begin_, ended_ ? last_ : std::max(now, last_),
      std::clamp(room, kBarColumnsMin, look.is_terminal ? kBarColumnsMax : kBarColumnsInText)};
  std::string text = Axis(scale, names, look);
  const std::size_t shown = std::min(rows_.size(), rows_max);
  for (std::size_t i = 0; i < shown; ++i) text += Line(rows_[i], scale, names, look);
  if (shown < rows_.size()) {
    text += CountText(rows_.size() - shown, "step", "steps") + " more; see --limit\n";
  }
  text +=
      look.Paint(Colour::kDim,
                 std::string(look.Glyph("█ runs  ▒ waits  ┃ next attempt  ╌ queued",
                                        "# runs  ~ waits  | next attempt  . queued  x failed"))) +
      "\n";
  return text;
}

}  // namespace everstep::cli
