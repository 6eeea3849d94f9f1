#pragma once

#include <string_view>

#include "base/sha256.h"

namespace everstep {

// RFC 2104 with SHA-256. The key must not be empty.
Sha256Digest HmacSha256(std::string_view key, std::string_view bytes);

// Compare in time independent of the content. Texts of different length are unequal at once.
bool EqualInConstantTime(std::string_view a, std::string_view b);
bool EqualInConstantTime(const Sha256Digest& a, const Sha256Digest& b);

}  // namespace everstep
