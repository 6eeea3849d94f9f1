#include "net/content_coding.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/assert.h"
#include "net/http_text.h"

namespace everstep {
namespace {

constexpr int kGzipWindow = 15 + 16;  // asks zlib for the gzip format
constexpr int kLevel = 3;             // a third of the default's time, nearly its size
constexpr int kMemoryLevel = 8;

// Whether the parameter is "q=0", "q=0.0" …
bool IsZeroQuality(std::string_view parameter) {
  parameter = Trim(parameter);
  if (parameter.size() < 3 || LowerCase(parameter[0]) != 'q' || parameter[1] != '=') return false;
  return parameter.find_first_not_of("0.", 2) == std::string_view::npos;
}

Bytef* ZlibBytes(std::string_view text) {
  // zlib does not write there; its type only lacks const.
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}

}  // namespace

bool AcceptsGzip(std::string_view accept_encoding) {
  bool any = false;
  while (!accept_encoding.empty()) {
    const std::size_t comma = accept_encoding.find(',');
    const std::string_view element = accept_encoding.substr(0, comma);
    accept_encoding.remove_prefix(comma == std::string_view::npos ? accept_encoding.size()
                                                                  : comma + 1);
    const std::size_t semicolon = element.find(';');
    const std::string_view coding = Trim(element.substr(0, semicolon));
    const bool wanted =
        semicolon == std::string_view::npos || !IsZeroQuality(element.substr(semicolon + 1));
    if (EqualsIgnoringCase(coding, "gzip") || EqualsIgnoringCase(coding, "x-gzip")) return wanted;
    if (coding == "*") any = wanted;
  }
  return any;
}

bool IsCompressible(std::string_view content_type) {
  constexpr std::array<std::string_view, 7> kTypes = {
      "application/json", "application/problem+json", "application/x-ndjson", "application/yaml",
      "application/xml",  "application/javascript",   "image/svg+xml"};
  const std::string_view type = Trim(content_type.substr(0, content_type.find(';')));
  if (EqualsIgnoringCase(type.substr(0, 5), "text/")) return true;
  return std::any_of(kTypes.begin(), kTypes.end(),
                     [&](std::string_view known) { return EqualsIgnoringCase(type, known); });
}

std::string Gzip(std::string_view text) {
  EVERSTEP_ASSERT(text.size() < std::numeric_limits<uInt>::max());
  z_stream stream{};
  EVERSTEP_ASSERT(deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                               Z_DEFAULT_STRATEGY) == Z_OK);
  std::string compressed(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = ZlibBytes(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  EVERSTEP_ASSERT(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  compressed.resize(stream.total_out);
  compressed.shrink_to_fit();
  deflateEnd(&stream);
  return compressed;
}

}  // namespace everstep
