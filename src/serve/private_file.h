#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "everstep/result.h"

namespace everstep {

// Small files that only their owner may read (0600).

// Returns nullopt if the file does not exist. Fails with kStoreIo, or with kStoreCorrupt if it is
// larger than `bytes_max`.
Result<std::optional<std::string>> ReadPrivateFile(const std::string& path, std::size_t bytes_max);

// Atomically replaces the file: after a crash either the old or the new content is there. Durable
// on return. On kStoreIo the old file is unchanged.
Status WritePrivateFile(const std::string& path, std::string_view bytes);

std::string RandomBytes(Random& random, std::size_t count);

}  // namespace everstep
