#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace everstep {

// True: the value of an Accept-Encoding header allows gzip.
bool AcceptsGzip(std::string_view accept_encoding);
// True: a text type that gets smaller. "application/json; charset=utf-8" is one.
bool IsCompressible(std::string_view content_type);

std::string Gzip(std::string_view text);

enum class Gunzipped : std::uint8_t { kOk, kCorrupt, kTooLarge };
// Decodes one whole gzip member. Never holds more than `bytes_max` and a little.
Gunzipped Gunzip(std::string_view compressed, std::size_t bytes_max, std::string& text);

}  // namespace everstep
