#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include "everstep/error.h"

namespace everstep {

// The error for a failed system call on the file `path`: kStoreFull if the disk or quota is full,
// which is temporary, else kStoreIo. `reason` is an errno value.
inline Error DiskError(const std::string& path, int reason) {
  const bool full = reason == ENOSPC || reason == EDQUOT;
  return {full ? ErrorCode::kStoreFull : ErrorCode::kStoreIo,
          path + ": " + std::generic_category().message(reason),
          {}};
}

}  // namespace everstep
