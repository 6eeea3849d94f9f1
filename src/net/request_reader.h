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

// Turns the bytes of a connection into requests. Knows no socket.
class RequestReader {
 public:
  enum class Outcome : std::uint8_t { kMore, kPaused, kRequest, kHead, kRefused };

  // `handler` is asked how the body of each request is taken.
  RequestReader(HeadLimits limits, HttpHandler& handler) : head_(limits), handler_(handler) {}

  // Consumes the front of `input`. kMore: what is left (an unfinished head) must be at the front of
  // the next input. kPaused: `unpack_max` bytes of the body were unpacked; what is left must be
  // given again. kRequest: TakeRequest gives it. kHead: TakeHead gives it, and its body comes by
  // ReadPiece. kRefused: nothing may be read any more.
  Outcome Read(std::string_view& input, std::size_t unpack_max);
  // The request that is whole. The next may be read then.
  ServerRequest TakeRequest();
  // The request whose body is streamed.
  ServerRequest TakeHead();
  // Of the body, as BodyDecoder::Read says. After kDone the next request may be read.
  BodyDecoder::Outcome ReadPiece(std::string_view& input, std::size_t piece_bytes_max,
                                 std::string& piece);
  // Who sends: becomes part of the requests.
  void SetPeer(std::string_view address, bool secure);

  // Of the request that is taken next, or that is being read.
  const HeadFacts& facts() const { return head_.facts(); }
  const HttpRefusal& refusal() const { return refusal_; }
  bool in_head() const { return !in_body_ && head_.started(); }
  bool in_body() const { return in_body_; }
  // Of the request whose body is being read, or was read last.
  bool unproven_body() const { return unproven_; }
  // Of the body that is being read; nothing: it was there with its head.
  const std::optional<ClientName>& sender() const { return sender_; }
  // What has come of a body that is refused.
  void DropBody() { std::string().swap(request_.body); }  // an assignment would keep the memory
  // The client waits to be told that it may send the body. True once.
  bool TakeContinue();
  // Bytes that were unpacked since the last call, of bodies that are not streamed.
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
