#pragma once

#include <cstddef>
#include <memory>

#include "bench/report.h"
#include "everstep/log.h"

namespace everstep::cli {

// Bytes of all rows that an average event of the workload writes.
std::size_t RowBytesPerEvent();

// One run to `events` events: does the millionth cost what the first did?
void RunGrows(std::size_t events, BenchReport& report);

// The store to `runs` runs that rest: what do they cost in time and memory?
void StoreGrows(std::size_t runs, BenchReport& report);

// Decoding and folding a log; a snapshot of a live run beside one with a long history.
void Folding(BenchReport& report);

}  // namespace everstep::cli
