#include "net/request_reader.h"

#include <algorithm>
#include <utility>

#include "net/content_coding.h"

namespace everstep {
namespace {

// Room made before a byte of the body has come, whatever length is claimed.
constexpr std::size_t kBodyReserveMax = 64 << 10;
constexpr HttpRefusal kTooLarge = {413, "CONTENT_TOO_LARGE", "the body is too large"};

}  // namespace

void RequestReader::SetPeer(std::string_view address, bool secure) {
  request_.peer_address = address;
  request_.secure = secure;
}

RequestReader::Outcome RequestReader::Refuse(HttpRefusal refusal) {
  refusal_ = refusal;
  return Outcome::kRefused;
}

RequestReader::Outcome RequestReader::Read(std::string_view& input) {
  if (!in_body_) {
    const Outcome outcome = ReadHead(input);
    if (outcome != Outcome::kRequest || !in_body_) return outcome;
  }
  return ReadBody(input);
}

// kRequest: the head is read; the body, if there is one, comes next.
RequestReader::Outcome RequestReader::ReadHead(std::string_view& input) {
  switch (head_.Parse(input, request_)) {
    case HeadParser::Outcome::kMore:
      return Outcome::kMore;
    case HeadParser::Outcome::kRefused:
      return Refuse(head_.refusal());
    case HeadParser::Outcome::kDone:
      break;
  }
  input.remove_prefix(head_.size());
  const HeadFacts& facts = head_.facts();
  if (facts.framing == BodyFraming::kNone) return Outcome::kRequest;
  body_bytes_max_ = handler_.BodyBytesMax(request_);
  if (facts.content_length > body_bytes_max_) return Refuse(kTooLarge);
  request_.body.reserve(
      static_cast<std::size_t>(std::min<std::uint64_t>(facts.content_length, kBodyReserveMax)));
  in_body_ = true;
  continue_due_ = facts.expects_continue;
  return Outcome::kRequest;
}

RequestReader::Outcome RequestReader::ReadBody(std::string_view& input) {
  if (!input.empty()) continue_due_ = false;
  if (head_.facts().framing == BodyFraming::kChunked) {
    switch (chunks_.Read(input, body_bytes_max_, request_.body)) {
      case ChunkedBody::Outcome::kMore:
        return Outcome::kMore;
      case ChunkedBody::Outcome::kRefused:
        return Refuse(chunks_.refusal());
      case ChunkedBody::Outcome::kDone:
        return Finish();
    }
  }
  const auto length = static_cast<std::size_t>(head_.facts().content_length);
  const std::size_t taken = std::min(length - request_.body.size(), input.size());
  request_.body.append(input.substr(0, taken));
  input.remove_prefix(taken);
  return request_.body.size() == length ? Finish() : Outcome::kMore;
}

RequestReader::Outcome RequestReader::Finish() {
  in_body_ = false;
  if (!head_.facts().gzip_body) return Outcome::kRequest;
  std::string text;
  switch (Gunzip(request_.body, body_bytes_max_, text)) {
    case Gunzipped::kCorrupt:
      return Refuse({400, "BAD_REQUEST", "the body is not gzip"});
    case Gunzipped::kTooLarge:
      return Refuse(kTooLarge);
    case Gunzipped::kOk:
      break;
  }
  request_.body = std::move(text);
  return Outcome::kRequest;
}

ServerRequest RequestReader::TakeRequest() {
  ServerRequest request;
  request.peer_address = request_.peer_address;
  request.secure = request_.secure;
  std::swap(request, request_);
  head_.Reset();
  chunks_.Reset();
  return request;
}

bool RequestReader::TakeContinue() { return std::exchange(continue_due_, false); }

}  // namespace everstep
