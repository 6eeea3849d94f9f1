#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "net/chunked_body.h"
#include "net/http_message.h"

namespace everstep {

// Reads one HTTP/1.x answer, piece by piece. Strict about where it ends: a body without a length,
// and bytes after the answer, are malformed.
class HttpAnswerReader {
 public:
  enum class Outcome : std::uint8_t { kMore, kDone, kMalformed, kTooLarge };

  // `has_body`: false for answers to HEAD.
  HttpAnswerReader(bool has_body, std::size_t bytes_max)
      : has_body_(has_body), bytes_max_(bytes_max) {}

  // Must not be called again after anything but kMore.
  Outcome Read(std::string_view input);
  // Valid after kDone.
  HttpResponse TakeResponse() { return std::move(response_); }
  bool keeps_connection() const { return keeps_connection_; }

 private:
  bool ReadHead(std::string_view head);
  bool ReadHeader(std::string_view line);
  Outcome ReadBody(std::string_view input);

  bool has_body_;
  const std::size_t bytes_max_;
  bool in_body_ = false;
  bool sized_ = false;
  bool chunked_ = false;
  bool keeps_connection_ = true;
  std::uint64_t length_ = 0;
  ChunkedBody chunks_;
  std::string head_;
  HttpResponse response_;
};

}  // namespace everstep
