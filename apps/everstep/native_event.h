#pragma once

#include <cstdint>
#include <string>

#include "everstep/log.h"

namespace everstep::cli {

// The native view of an event, parsed for tables and drawings.
struct NativeEvent {
  std::uint64_t run_seq = 0;
  std::string type;
  std::string run_id;
  std::string entity;  // the step, hook, wait …; empty for the run itself
  std::uint64_t attempt = 1;
  SystemTime emitted_at{};
  SystemTime persisted_at{};
  std::string payload;  // JSON, or empty
};

NativeEvent ReadNative(const LogEvent& event);

// Summarizes the payload in a few words: the error, the reason, the token …
std::string DetailOf(const NativeEvent& event);

}  // namespace everstep::cli
