#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "base/cbor.h"
#include "serve/devkit/world_error.h"

namespace everstep {

inline constexpr std::size_t kPageBytes = 16 << 20;  // a page ends early beyond this

// Which page of a list a call asks for.
struct Paging {
  std::size_t limit;
  std::string_view cursor;
  bool newest_first;
};

inline Paging PagingOf(const CborItem& args, std::size_t limit, bool newest_first) {
  constexpr std::size_t kLimitMax = 1000;
  Paging paging{args.Uint("limit", limit), args.Text("cursor"), newest_first};
  paging.limit = std::clamp<std::size_t>(paging.limit, 1, kLimitMax);
  if (args.Text("sortOrder") == "asc") paging.newest_first = false;
  if (args.Text("sortOrder") == "desc") paging.newest_first = true;
  return paging;
}

// The runtime keeps the last cursor to ask for newer entries later, so there is a cursor as long as
// there is an entry.
inline void WritePageEnd(std::string_view cursor, bool more, CborWriter& cbor) {
  cbor.Key("cursor");
  if (cursor.empty()) {
    cbor.Null();
  } else {
    cbor.Text(cursor);
  }
  cbor.Member("hasMore", more);
}

inline WorldError BadCursor() {
  return WorldError::Invalid("the cursor was not returned by a list");
}

}  // namespace everstep
