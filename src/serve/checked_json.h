#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace everstep {

// Small JSON files with a checksum: the last member of the object, "crc32c", is the CRC-32C of the
// text before it, as eight hexadecimal digits.

// Adds the checksum to `json`, an object with at least one member, and a line break.
std::string WithChecksum(std::string json);

// Returns the object as it was before the checksum was added. Nullopt if the text does not end with
// the checksum of the text before it.
std::optional<std::string> WithoutChecksum(std::string_view text);

}  // namespace everstep
