#pragma once

#include <cstdint>

#include "event_printer.h"
#include "everstep/log.h"
#include "output.h"

namespace everstep::cli {

// Prints the events of a run, and those that come.
class EventReading {
 public:
  struct Range {
    EventRequest request;
    std::uint64_t limit = UINT64_MAX;
    bool follow = false;     // go on with events as they become durable
    bool until_end = false;  // of the run; with `follow`
  };

  EventReading(const Range& range, OutputForm form, Log& log, Output& out);

  // To the end of what was asked for, or until an interrupt.
  Status Run();

 private:
  Status ReadOn();  // to the end of what is durable now
  Result<bool> HasEnded();

  Log& log_;
  Output& out_;
  EventPrinter printer_;
  EventRequest request_;
  std::uint64_t left_;
  std::uint64_t remembered_ = 0;
  const bool follow_;
  const bool until_end_;
};

}  // namespace everstep::cli
