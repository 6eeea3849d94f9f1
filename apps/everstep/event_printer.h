#pragma once

#include <cstddef>

#include "everstep/log.h"
#include "output.h"
#include "table.h"

namespace everstep::cli {

// Prints a stream of events in one of the four forms.
class EventPrinter {
 public:
  // `native`: the events are in the native dialect, which a table can split into columns.
  EventPrinter(OutputForm form, bool native, Output& out);

  void Print(const LogEvent& event);
  void Flush();   // makes everything printed so far visible
  void Finish();  // once, after the last event

 private:
  void AddRow(const LogEvent& event);

  OutputForm form_;
  bool native_;
  Output& out_;
  Table table_;
  bool empty_ = true;
};

}  // namespace everstep::cli
