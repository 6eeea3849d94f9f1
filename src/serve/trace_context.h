#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"

namespace everstep {

// W3C Trace Context: the trace a request belongs to, and the span that caused it.
struct TraceContext {
  std::string trace_id;  // 32 lower-case hexadecimal digits, not all zero
  std::string span_id;   // 16
  std::uint8_t flags = 0;
  std::string state;  // tracestate, at most 512 bytes; may be empty

  bool sampled() const { return (flags & 1) != 0; }
  bool operator==(const TraceContext&) const = default;
};

// Parses the two headers; join several tracestate headers with commas first. Nullopt if traceparent
// is invalid; an invalid tracestate is only dropped itself. As specified, a tracestate that is too
// long first loses its members over 128 bytes and then its last ones, and later versions of
// traceparent are parsed as far as they are known.
std::optional<TraceContext> ParseTraceContext(std::string_view traceparent,
                                              std::string_view tracestate);

// Starts a new trace, not sampled because nobody asked for it.
TraceContext NewTrace(Random& random);
// Makes a new span in the same trace.
TraceContext ChildOf(const TraceContext& parent, Random& random);

// "00-<trace>-<span>-<flags>".
std::string Traceparent(const TraceContext& context);

}  // namespace everstep
