#include "event_words.h"

#include <algorithm>
#include <iterator>

namespace everstep::cli {
namespace {

using Part = EventWords::Part;

constexpr EventWords kWords[] = {
    {"RunQueued", "○", "o", Colour::kDim, "queued", Part::kNeither},
    {"RunApproved", "◎", "o", Colour::kCyan, "approved", Part::kNeither},
    {"RunStarted", "▶", ">", Colour::kCyan, "started", Part::kOpens},
    {"RunPaused", "‖", "=", Colour::kYellow, "paused", Part::kNeither},
    {"RunResumed", "▶", ">", Colour::kCyan, "resumed", Part::kNeither},
    {"RunCompleted", "✔", "+", Colour::kGreen, "completed", Part::kCloses},
    {"RunFailed", "✘", "x", Colour::kRed, "failed", Part::kCloses},
    {"RunCancelled", "■", "x", Colour::kYellow, "cancelled", Part::kCloses},
    {"StepScheduled", "○", "o", Colour::kDim, "scheduled", Part::kNeither},
    {"StepStarted", "▶", ">", Colour::kCyan, "started", Part::kOpens},
    {"StepFailed", "✘", "x", Colour::kRed, "failed", Part::kCloses},
    {"StepCompleted", "✔", "+", Colour::kGreen, "completed", Part::kCloses},
    {"StepSkipped", "–", "-", Colour::kDim, "skipped", Part::kNeither},
    {"StepDelayed", "◷", "~", Colour::kYellow, "delayed", Part::kNeither},
    {"ToolStarted", "▷", ">", Colour::kDim, "tool called", Part::kOpens},
    {"ToolProcessed", "◁", "<", Colour::kDim, "tool returned", Part::kCloses},
    {"LoopStarted", "▷", ">", Colour::kDim, "loop began", Part::kOpens},
    {"LoopIterationStarted", "▷", ">", Colour::kDim, "iteration began", Part::kOpens},
    {"LoopIterationFinished", "◁", "<", Colour::kDim, "iteration ended", Part::kCloses},
    {"LoopFinished", "◁", "<", Colour::kDim, "loop ended", Part::kCloses},
    {"RetryStarted", "↻", "@", Colour::kYellow, "retry began", Part::kOpens},
    {"RetryProcessed", "↻", "@", Colour::kYellow, "retry returned", Part::kCloses},
    {"SinkStarted", "▷", ">", Colour::kDim, "sink began", Part::kOpens},
    {"SinkProcessed", "◁", "<", Colour::kDim, "sink ended", Part::kCloses},
    {"HookCreated", "⚑", "?", Colour::kBlue, "hook waits", Part::kOpens},
    {"HookConflict", "⚑", "!", Colour::kRed, "hook's token is taken", Part::kNeither},
    {"HookReceived", "⚑", "!", Colour::kBlue, "hook received", Part::kCloses},
    {"HookDisposed", "⚐", ".", Colour::kDim, "hook disposed", Part::kNeither},
    {"WaitCreated", "◷", "~", Colour::kYellow, "wait began", Part::kOpens},
    {"WaitCompleted", "◷", "~", Colour::kYellow, "wait ended", Part::kCloses},
    {"SignalAccepted", "⚡", "*", Colour::kBlue, "signal accepted", Part::kNeither},
    {"SignalRejected", "⚡", "*", Colour::kRed, "signal rejected", Part::kNeither},
    {"ErrorRecorded", "!", "!", Colour::kRed, "error recorded", Part::kOpens},
    {"ErrorResolved", "✔", "+", Colour::kGreen, "error resolved", Part::kCloses},
    {"ErrorUnrecoverable", "!", "!", Colour::kRed, "error cannot be resolved", Part::kNeither},
    {"ChildStarted", "▶", ">", Colour::kCyan, "child run started", Part::kOpens},
    {"ChildFinished", "✔", "+", Colour::kGreen, "child run ended", Part::kCloses},
};

}  // namespace

EventWords WordsFor(const NativeEvent& event) {
  const auto found = std::ranges::find(kWords, event.type, &EventWords::type);
  EventWords drawing =
      found != std::end(kWords) ? *found : EventWords{event.type,   "·",        ".",
                                                      Colour::kDim, event.type, Part::kNeither};
  if (event.type == "StepStarted" && event.attempt > 1) {
    drawing.glyph = "↻";
    drawing.ascii = "@";
    drawing.colour = Colour::kYellow;
  }
  return drawing;
}

}  // namespace everstep::cli
