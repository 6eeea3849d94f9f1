#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include "everstep/error.h"

namespace everstep {

// What a call that works on the file `path` failed with: kStoreFull where space is missing, which
// passes, else kStoreIo. `reason` is an errno.
inline Error DiskError(const std::string& path, int reason) {
  const bool full = reason == ENOSPC || reason == EDQUOT;
  return {full ? ErrorCode::kStoreFull : ErrorCode::kStoreIo,
          path + ": " + std::generic_category().message(reason),
          {}};
}

}  // namespace everstep
