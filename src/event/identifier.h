#pragma once

#include <string_view>

namespace everstep {

// Ids of runs, tenants, projects, environments and events:
// ^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$
bool IsIdentifier(std::string_view text);

// What people call things (steps, plans, hooks, tokens, error codes …): 1 to 256 Unicode characters
// in valid UTF-8, without '|' (it separates the fields of a key) and without control characters
// (U+0000 to U+001F, U+007F to U+009F).
bool IsName(std::string_view text);

// Ids of runs that a server derives from what a caller sent (a request id, an event of an inbound
// rule, a retry): UUIDs of version 8, and "in-" with 32 hexadecimal digits, in lower case. Nobody
// may name a new run so: whoever guesses such an id could otherwise take it first.
bool IsDerivedRunId(std::string_view text);

inline constexpr std::size_t kIdentifierCharactersMax = 128;
inline constexpr std::size_t kNameCharactersMax = 256;

}  // namespace everstep
