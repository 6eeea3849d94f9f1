#pragma once

#include <string>
#include <string_view>

namespace everstep {

// True: the value of an Accept-Encoding header allows gzip.
bool AcceptsGzip(std::string_view accept_encoding);
// True: a text type that gets smaller. "application/json; charset=utf-8" is one.
bool IsCompressible(std::string_view content_type);

std::string Gzip(std::string_view text);

}  // namespace everstep
