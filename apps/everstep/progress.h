#pragma once

#include <memory>
#include <string>
#include <vector>

#include "everstep/engine.h"
#include "output.h"

namespace everstep::cli {

// Shows a run while it runs. Not thread-safe.
class Progress {
 public:
  virtual ~Progress() = default;
  // Takes the events that have become durable since the last call.
  virtual void Happened(const std::vector<LogEvent>& events) = 0;
  // Called several times a second, even if nothing has happened.
  virtual void Show(const RunView& view, SystemTime now) = 0;
  // Shows a message.
  virtual void Say(std::string_view line) = 0;
  // Called once at the end, with the last state of the run.
  virtual void Finish(const RunView& view, SystemTime now) = 0;
};

// A tree of steps, redrawn in place, on a terminal.
std::unique_ptr<Progress> MakeLiveProgress(std::string deliver_command, Output& out);
// A line for each event of interest.
std::unique_ptr<Progress> MakeLineProgress(std::string deliver_command, Output& out);
// The events in the native dialect, one JSON document per line; messages go to standard error.
std::unique_ptr<Progress> MakeEventProgress(Output& out);
// Only the outcome.
std::unique_ptr<Progress> MakeQuietProgress(Output& out);

// Describes the outcome of a run: its status, its result or its error.
std::string OutcomeText(const RunView& view, const Look& look);

}  // namespace everstep::cli
