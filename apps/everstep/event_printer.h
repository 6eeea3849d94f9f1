#pragma once

#include <cstddef>

#include "everstep/log.h"
#include "output.h"
#include "table.h"

namespace everstep::cli {

// Writes events, in any number, in one of the four forms.
class EventPrinter {
 public:
  // `native`: the events are in the native dialect, which a table can take apart.
  EventPrinter(OutputForm form, bool native, Output& out);

  void Print(const LogEvent& event);
  void Flush();   // what was printed so far can be seen
  void Finish();  // once, behind the last event

 private:
  void AddRow(const LogEvent& event);

  OutputForm form_;
  bool native_;
  Output& out_;
  Table table_;
  bool empty_ = true;
};

}  // namespace everstep::cli
