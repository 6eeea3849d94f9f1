#include "progress.h"
#include "run_drawing.h"
#include "snapshot_text.h"

namespace everstep::cli {

std::string OutcomeText(const RunView& view, const Look& look) {
  std::string text = look.Paint(Colour::kBold, Printable(view.run_id)) + " is " +
                     look.Paint(ColourOfStatus(view.status), view.status);
  if (view.started_at && view.completed_at) {
    text += " after " + DurationText(*view.completed_at - *view.started_at);
  }
  if (const std::string counts = StepCounts(view); !counts.empty()) text += ": " + counts;
  text += "\n";
  if (!view.error_code.empty()) {
    text += look.Paint(Colour::kRed,
                       Printable(view.error_code) + ": " + Printable(view.error_message)) +
            "\n";
  } else if (!view.error_message.empty()) {
    text += "reason: " + Printable(view.error_message) + "\n";
  }
  const bool has_result = !view.result.empty() && view.result != "null" && view.result != "{}";
  if (has_result) text += Printable(view.result) + "\n";
  return text;
}

}  // namespace everstep::cli
