#pragma once

#include <memory>
#include <string>
#include <vector>

#include "everstep/engine.h"
#include "output.h"

namespace everstep::cli {

// How a run is shown while it runs. One thread.
class Progress {
 public:
  virtual ~Progress() = default;
  // Those that have become durable since it was last called.
  virtual void Happened(const std::vector<LogEvent>& events) = 0;
  // Called several times a second, also when nothing has happened.
  virtual void Show(const RunView& view, SystemTime now) = 0;
  // Something to tell besides.
  virtual void Say(std::string_view line) = 0;
  // Once, with the run as it was left.
  virtual void Finish(const RunView& view, SystemTime now) = 0;
};

// A tree of steps, redrawn in place, on a terminal.
std::unique_ptr<Progress> MakeLiveProgress(std::string deliver_command, Output& out);
// A line for each thing that happens.
std::unique_ptr<Progress> MakeLineProgress(std::string deliver_command, Output& out);
// The events in the native dialect, one JSON document a line; what there is to say goes to standard
// error.
std::unique_ptr<Progress> MakeEventProgress(Output& out);
// Only how it ended.
std::unique_ptr<Progress> MakeQuietProgress(Output& out);

// How the run ended: its result, its error, or how to go on.
std::string OutcomeText(const RunView& view, const Look& look);

}  // namespace everstep::cli
