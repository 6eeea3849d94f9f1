#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "everstep/result.h"

namespace everstep {

// Small files that only their owner may read (0600).

// Nothing: there is no such file. kStoreIo; kStoreCorrupt: larger than `bytes_max`.
Result<std::optional<std::string>> ReadPrivateFile(const std::string& path, std::size_t bytes_max);

// Replaces the file as a whole: after a crash there is the old one or the new one. Durable on
// return. kStoreIo: the old one is still there.
Status WritePrivateFile(const std::string& path, std::string_view bytes);

std::string RandomBytes(Random& random, std::size_t count);

}  // namespace everstep
