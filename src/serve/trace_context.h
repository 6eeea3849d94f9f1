#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"

namespace everstep {

// W3C Trace Context: which trace a request belongs to and which span caused it.
struct TraceContext {
  std::string trace_id;  // 32 lower-case hexadecimal digits, not all zero
  std::string span_id;   // 16
  std::uint8_t flags = 0;
  std::string state;  // tracestate, at most 512 bytes; may be empty

  bool sampled() const { return (flags & 1) != 0; }
  bool operator==(const TraceContext&) const = default;
};

// Of the two headers; several tracestate headers joined with a comma. Nothing: traceparent is not
// valid. A tracestate that is not valid is dropped alone; of one that is too long the members of
// more than 128 bytes go first, then the last ones, as the specification says. Later versions of
// traceparent are read as far as they are known, as the specification asks.
std::optional<TraceContext> ParseTraceContext(std::string_view traceparent,
                                              std::string_view tracestate);

// A trace of its own; not sampled: nobody has asked for it.
TraceContext NewTrace(Random& random);
// A span of our own in the same trace.
TraceContext ChildOf(const TraceContext& parent, Random& random);

// "00-<trace>-<span>-<flags>".
std::string Traceparent(const TraceContext& context);

}  // namespace everstep
