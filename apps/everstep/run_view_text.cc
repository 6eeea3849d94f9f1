#include "run_view_text.h"

#include <optional>

#include "run_drawing.h"
#include "snapshot_text.h"
#include "table.h"

namespace everstep::cli {
namespace {

std::string TimeOr(const std::optional<SystemTime>& time, const char* otherwise) {
  return time ? TimeText(*time) : std::string(otherwise);
}

}  // namespace

std::string RunViewText(const RunView& view, SystemTime now, const std::string& deliver_command,
                        const Look& look) {
  Facts facts;
  facts.Add("run", Cell(view.run_id, Colour::kBold));
  const std::string substatus = view.substatus.empty() ? "" : " (" + view.substatus + ")";
  facts.Add("status", Cell(view.status + substatus, ColourOfStatus(view.status)));
  if (view.queue_position > 0) facts.Add("queue", std::to_string(view.queue_position));
  facts.Add("plan", view.plan_id + " " + view.plan_version);
  facts.Add("started", TimeOr(view.started_at, "-"));
  if (view.completed_at) {
    std::string text = TimeText(*view.completed_at);
    if (view.started_at) text += " after " + DurationText(*view.completed_at - *view.started_at);
    facts.Add("ended", text);
  }
  facts.Add("events", std::to_string(view.last_event_seq));
  if (!view.inputs.empty() && view.inputs != "{}") facts.Add("inputs", view.inputs);
  if (view.error_code.empty() && !view.error_message.empty()) {
    facts.Add("reason", view.error_message);
  } else if (!view.error_code.empty()) {
    facts.Add("error", Cell(view.error_code + ": " + view.error_message, Colour::kRed));
  }
  if (!view.result.empty() && view.result != "null") facts.Add("result", view.result);
  std::string text = facts.Format(look);
  if (view.steps.empty()) return text;
  RunDrawing drawing(deliver_command);
  const auto lines = drawing.Lines(view, now, SIZE_MAX, look);
  for (std::size_t i = 1; i < lines.size(); ++i) text += (i == 1 ? "\n" : "") + lines[i] + "\n";
  return text;
}

}  // namespace everstep::cli
