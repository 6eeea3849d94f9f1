#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "net/body_decoder.h"
#include "net/http_parser.h"

namespace everstep {

// Turns the bytes of a connection into requests. Does not use the socket.
class RequestReader {
 public:
  enum class Outcome : std::uint8_t { kMore, kPaused, kRequest, kHead, kRefused };

  // `handler` is asked how the body of each request is received.
  RequestReader(HeadLimits limits, HttpHandler& handler) : head_(limits), handler_(handler) {}

  // Consumes the front of `input`. kMore: the rest (an unfinished head) must be at the front of the
  // next input. kPaused: `unpack_max` bytes of the body were unpacked; pass the rest again.
  // kRequest: call TakeRequest. kHead: call TakeHead, then read the body with ReadPiece. kRefused:
  // nothing more may be read.
  Outcome Read(std::string_view& input, std::size_t unpack_max);
  // Returns the whole request. The next may be read after that.
  ServerRequest TakeRequest();
  // Returns the request whose body is streamed.
  ServerRequest TakeHead();
  // Reads a piece of the body as BodyDecoder::Read does. After kDone the next request may be read.
  BodyDecoder::Outcome ReadPiece(std::string_view& input, std::size_t piece_bytes_max,
                                 std::string& piece);
  // Sets who sends. It becomes part of the requests.
  void SetPeer(std::string_view address, bool secure);

  // Of the request that is taken next, or that is being read.
  const HeadFacts& facts() const { return head_.facts(); }
  const HttpRefusal& refusal() const { return refusal_; }
  bool in_head() const { return !in_body_ && head_.started(); }
  bool in_body() const { return in_body_; }
  // Of the request whose body is being read, or was read last.
  bool unproven_body() const { return unproven_; }
  // The sender of the body that is being read, if its head names one. Also nothing if the body
  // arrived together with its head.
  const std::optional<ClientName>& sender() const { return sender_; }
  // Drops what has arrived of a refused body.
  void DropBody() { std::string().swap(request_.body); }  // an assignment would keep the memory
  // Whether the client waits for "100 Continue" before it sends the body. True only once.
  bool TakeContinue();
  // Returns the bytes unpacked since the last call, of bodies that are not streamed.
  std::size_t TakeUnpacked() { return std::exchange(unpacked_, 0); }
  std::size_t buffered_bytes() const { return in_body_ ? request_.body.capacity() : 0; }

 private:
  Outcome ReadHead(std::string_view& input);
  Outcome ReadBody(std::string_view& input, std::size_t unpack_max);
  bool IsRefusedByHead(std::string_view input);
  Outcome Refuse(HttpRefusal refusal);

  HeadParser head_;
  HttpHandler& handler_;
  BodyDecoder body_;
  ServerRequest request_;
  HttpRefusal refusal_;
  std::optional<ClientName> sender_;
  std::size_t unpacked_ = 0;
  bool in_body_ = false;
  bool streamed_ = false;
  bool unproven_ = false;
  bool continue_due_ = false;
};

}  // namespace everstep
