#pragma once

#include <string>
#include <vector>

#include "work/artifact_store.h"

namespace everstep {

inline constexpr std::size_t kKeptFilesMax = 1000;
inline constexpr std::uint64_t kKeptFileBytesMax = 1ULL << 30;

// Writes the regular files under `directory` that match one of the patterns (as a shell's,
// relative, without "..") to the store, in the order of their names. Symbolic links are left out.
// kInvalidArgument: a bad pattern, too many files, a file too large. kStoreIo.
Result<std::vector<ArtifactRef>> KeepFiles(const std::string& directory,
                                           const std::vector<std::string>& patterns,
                                           const ArtifactStore& store);

}  // namespace everstep
