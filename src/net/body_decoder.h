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

// Decodes the bodies of requests as they come: of a length that was told or chunked, plain or gzip.
class BodyDecoder {
 public:
  enum class Outcome : std::uint8_t { kMore, kFull, kDone, kRefused };

  // Whether what is unpacked may be any number of times larger than what is sent. kBounded: over
  // 64 KiB at most a hundred times; of a chunked body at every moment, its length being unknown.
  enum class Ratio : std::uint8_t { kAny, kBounded };

  // A body of that head comes next, with at most `bytes_max` bytes both as sent and decoded.
  void Begin(const HeadFacts& facts, std::uint64_t bytes_max, Ratio ratio = Ratio::kAny);
  // Consumes the front of `input` and appends what it carries to `out`, until that has
  // `out_bytes_max` bytes. kMore: all was consumed, and all that follows from it was given. kFull:
  // call again with more room, also if there is no more input. kDone: what is left of `input`
  // belongs to the next request. kRefused: refusal() says why. kDone and kRefused are the last.
  Outcome Read(std::string_view& input, std::size_t out_bytes_max, std::string& out);

  const HttpRefusal& refusal() const { return refusal_; }

 private:
  // The content at the front of `input`. kDone: there is no more.
  Outcome Find(std::string_view& input, std::string_view& content);
  Outcome Copy(std::string_view& content, std::size_t out_bytes_max, std::string& out);
  Outcome Unpack(std::string_view& content, bool last, std::size_t out_bytes_max, std::string& out);
  Outcome Refuse(const HttpRefusal& refusal);
  // So many bytes may be unpacked after so many were sent.
  std::uint64_t AllowedAfter(std::uint64_t packed_bytes) const;

  std::uint64_t bytes_max_ = 0;
  std::uint64_t left_ = 0;  // of a length that was told
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
