#pragma once

#include <string>
#include <vector>

#include "work/artifact_store.h"

namespace everstep {

inline constexpr std::size_t kKeptFilesMax = 1000;
inline constexpr std::uint64_t kKeptFileBytesMax = 1ULL << 30;

// Writes the regular files under `directory` that match one of the patterns (shell patterns,
// relative, without "..") to the store, in the order of their names. Skips symbolic links. Returns
// kInvalidArgument for an invalid pattern, too many files or a file that is too large, and kStoreIo
// for a disk error.
Result<std::vector<ArtifactRef>> KeepFiles(const std::string& directory,
                                           const std::vector<std::string>& patterns,
                                           const ArtifactStore& store);

}  // namespace everstep
