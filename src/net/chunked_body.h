#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "net/http_parser.h"

namespace everstep {

// Decodes a chunked body piece by piece. Extensions and trailers are checked, bounded and dropped.
class ChunkedBody {
 public:
  enum class Outcome : std::uint8_t { kMore, kDone, kRefused };

  // Consumes the front of `input` up to the next content and sets `content` to it, without
  // consuming it: `content` is then the front of `input`. kMore with empty `content`: all input was
  // consumed. kDone: the rest of `input` belongs to the next request. kRefused: refusal() says why.
  Outcome Next(std::string_view& input, std::uint64_t body_bytes_max, std::string_view& content);
  // Must be called after `bytes` of the content were taken from `input`.
  void Consume(std::size_t bytes);
  // Consumes the front of `input` and appends its content to `body`. kMore: all input was consumed.
  Outcome Read(std::string_view& input, std::uint64_t body_bytes_max, std::string& body);
  void Reset() { *this = ChunkedBody(); }
  const HttpRefusal& refusal() const { return refusal_; }

 private:
  enum class Place : std::uint8_t {
    kSize,
    kExtension,
    kSizeEnd,
    kContent,
    kContentCr,
    kContentLf,
    kLine,     // the start of a trailer, or of the empty line
    kName,     // of a trailer
    kValue,    // of a trailer
    kLineEnd,  // of a trailer
    kEnd,
    kDone,
    kRefused,
  };

  void Step(char c);
  void StepSize(char c);
  void StepTrailer(char c);
  // Continues with `next` if `c` is `wanted`, and refuses the body otherwise.
  void Expect(char c, char wanted, Place next);
  void Refuse(int status, std::string_view code, std::string_view detail);

  Place place_ = Place::kSize;
  std::uint8_t digits_ = 0;
  std::uint64_t left_ = 0;        // of the chunk
  std::uint64_t body_bytes_ = 0;  // of the chunks whose size was read
  std::size_t extension_bytes_ = 0;
  std::size_t trailer_bytes_ = 0;
  HttpRefusal refusal_;
};

}  // namespace everstep
