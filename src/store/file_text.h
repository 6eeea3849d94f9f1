#pragma once

#include <string>

#include "everstep/result.h"

namespace everstep {

// Reads a small file. kStoreNotFound if it does not exist, kStoreIo if it cannot be read.
Result<std::string> ReadFileText(const std::string& path);

}  // namespace everstep
