#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/chunked_body.h"
#include "net/gunzip_stream.h"
#include "net/http_parser.h"

namespace everstep {

// Decodes the bodies of requests as they arrive: with a Content-Length or chunked, plain or gzip.
class BodyDecoder {
 public:
  enum class Outcome : std::uint8_t { kMore, kFull, kDone, kRefused };

  // Limits how much larger a body may become when it is unpacked. kBounded: at most 64 KiB plus a
  // hundred times the bytes as sent. For a chunked body, whose length is unknown, the bound applies
  // at every moment.
  enum class Ratio : std::uint8_t { kAny, kBounded };

  // Begins the body that belongs to this head, with at most `bytes_max` bytes both as sent and
  // decoded.
  void Begin(const HeadFacts& facts, std::uint64_t bytes_max, Ratio ratio = Ratio::kAny);
  // Consumes the front of `input` and appends the decoded bytes to `out`, until `out` has
  // `out_bytes_max` bytes. kMore: all input was consumed and all of its output was appended. kFull:
  // call again with more room, even if there is no more input. kDone: the rest of `input` belongs
  // to the next request. kRefused: refusal() says why. After kDone or kRefused, call Begin first.
  Outcome Read(std::string_view& input, std::size_t out_bytes_max, std::string& out);

  const HttpRefusal& refusal() const { return refusal_; }

 private:
  // Finds the content at the front of `input`. kDone: there is no more.
  Outcome Find(std::string_view& input, std::string_view& content);
  Outcome Copy(std::string_view& content, std::size_t out_bytes_max, std::string& out);
  Outcome Unpack(std::string_view& content, bool last, std::size_t out_bytes_max, std::string& out);
  Outcome Refuse(const HttpRefusal& refusal);
  // Returns how many bytes may be unpacked after `packed_bytes` bytes were sent.
  std::uint64_t AllowedAfter(std::uint64_t packed_bytes) const;

  std::uint64_t bytes_max_ = 0;
  std::uint64_t left_ = 0;  // of the Content-Length
  bool chunked_ = false;
  ChunkedBody chunks_;
  std::unique_ptr<GunzipStream> gunzip_;  // null: plain
  Ratio ratio_ = Ratio::kAny;
  std::uint64_t packed_bytes_ = 0;
  std::uint64_t length_ = 0;  // from Content-Length; zero: there is none
  std::uint64_t unpacked_bytes_ = 0;
  bool unpacked_ = false;  // the end of the gzip member was seen
  HttpRefusal refusal_;
};

}  // namespace everstep
