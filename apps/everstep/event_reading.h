#pragma once

#include <cstdint>

#include "event_printer.h"
#include "everstep/log.h"
#include "output.h"

namespace everstep::cli {

// Prints the events of a run and, if asked to, follows new ones.
class EventReading {
 public:
  struct Range {
    EventRequest request;
    std::uint64_t limit = UINT64_MAX;
    bool follow = false;     // keep printing events as they become durable
    bool until_end = false;  // until the run has ended; with `follow`
  };

  EventReading(const Range& range, OutputForm form, Log& log, Output& out);

  // Prints up to the end of the range, or until an interrupt.
  Status Run();

 private:
  Status ReadOn();  // prints up to the last event that is durable now
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
