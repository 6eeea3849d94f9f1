#pragma once

#include <string>
#include <string_view>

namespace everstep {

// Whether the value of an Accept-Encoding header allows gzip.
bool AcceptsGzip(std::string_view accept_encoding);
// Whether the type is text that gets smaller, such as "application/json; charset=utf-8".
bool IsCompressible(std::string_view content_type);

std::string Gzip(std::string_view text);

}  // namespace everstep
