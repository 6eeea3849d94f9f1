#pragma once

#include <cstddef>
#include <memory>

#include "bench/report.h"
#include "everstep/log.h"

namespace everstep::cli {

// Returns the average number of row bytes that an event of the workload writes.
std::size_t RowBytesPerEvent();

// Grows one run to `events` events: does the last event cost as much as the first?
void RunGrows(std::size_t events, BenchReport& report);

// Grows the store to `runs` waiting runs: how much time and memory do they cost?
void StoreGrows(std::size_t runs, BenchReport& report);

// Measures decoding and folding a log, and snapshots of runs with a short and a long history.
void Folding(BenchReport& report);

}  // namespace everstep::cli
