#pragma once

#include <string_view>

namespace everstep {

// Ids of runs, tenants, projects, environments and events:
// ^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$
bool IsIdentifier(std::string_view text);

// Names chosen by people (steps, plans, hooks, tokens, error codes …): 1 to 256 Unicode characters
// in valid UTF-8, without '|' (the separator in key preimages) and without control characters
// (U+0000 to U+001F, U+007F to U+009F).
bool IsName(std::string_view text);

// Run ids that a server derives from a caller's input (a request id, an event of an inbound rule, a
// retry): version 8 UUIDs, and "in-" followed by 32 hexadecimal digits, in lower case. Callers must
// not choose such ids for new runs, because they could guess and occupy a derived id.
bool IsDerivedRunId(std::string_view text);

inline constexpr std::size_t kIdentifierCharactersMax = 128;
inline constexpr std::size_t kNameCharactersMax = 256;

}  // namespace everstep
