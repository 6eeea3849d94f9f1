#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "net/http_server.h"

namespace everstep {

// Why a request is refused. The connection is closed after the answer, because it is unknown where
// the next request begins. The texts live as long as the program.
struct HttpRefusal {
  int status = 400;
  std::string_view code = "BAD_REQUEST";  // one of kServerProblems
  std::string_view detail;
};

struct HeadLimits {
  std::size_t head_bytes_max = 32 << 10;
  std::size_t headers_max = 100;
  std::size_t target_bytes_max = 8 << 10;
};

enum class BodyFraming : std::uint8_t { kNone, kLength, kChunked };

// What a head says about the message and the connection.
struct HeadFacts {
  BodyFraming framing = BodyFraming::kNone;
  std::uint64_t content_length = 0;  // of kLength
  bool keep_alive = true;
  bool http_1_0 = false;  // no chunked answer; the connection is closed after it
  bool expects_continue = false;
  bool gzip_body = false;
};

// Parses the head of a request (RFC 9112). Strict where two parsers could disagree: lines end with
// CR LF, no folded lines, no space before a colon, one Host, one length, "chunked" alone and never
// with a length. Skips one empty line before the request. Not thread-safe.
class HeadParser {
 public:
  enum class Outcome : std::uint8_t { kMore, kDone, kRefused };

  explicit HeadParser(HeadLimits limits) : limits_(limits) {}

  // `input` must begin with the bytes of all calls since Reset. kDone: method, path, query and
  // headers of `request` are set, and the head was size() bytes long. kRefused: refusal() says why.
  Outcome Parse(std::string_view input, ServerRequest& request);
  void Reset();

  // Whether some bytes of a head were seen.
  bool started() const { return scanned_ > 0; }
  std::size_t size() const { return line_start_; }
  const HeadFacts& facts() const { return facts_; }
  const HttpRefusal& refusal() const { return refusal_; }

 private:
  enum Seen : std::uint8_t { kHost = 1, kLength = 2, kCoding = 4, kExpect = 8, kEncoding = 16 };

  // Returns whether the empty line was found.
  bool FindEnd(std::string_view input);
  bool CheckUnfinished(std::string_view input);
  bool ParseHead(std::string_view head, ServerRequest& request);
  bool ParseRequestLine(std::string_view line, ServerRequest& request);
  bool ParseTarget(std::string_view target, ServerRequest& request);
  bool ParseHeader(std::string_view line, ServerRequest& request);
  bool Interpret(std::string_view name, std::string_view value);
  bool InterpretLength(std::string_view value);
  bool InterpretCoding(std::string_view value);
  void InterpretConnection(std::string_view value);
  bool CheckWhole();
  // Notes that the header was seen. False: it was seen before.
  bool Once(Seen header);
  bool Refuse(int status, std::string_view code, std::string_view detail);
  bool Refuse(std::string_view detail) { return Refuse(400, "BAD_REQUEST", detail); }

  const HeadLimits limits_;
  std::size_t begin_ = 0;       // after an empty line that is skipped
  std::size_t line_start_ = 0;  // of the line whose end is being searched
  std::size_t scanned_ = 0;
  std::size_t lines_ = 0;
  HeadFacts facts_;
  HttpRefusal refusal_;
  std::uint8_t seen_ = 0;
  bool asked_to_close_ = false;
  bool refused_ = false;
};

}  // namespace everstep
