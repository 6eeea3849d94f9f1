#include "net/request_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace everstep {
namespace {

// The most that is reserved before a byte of the body has arrived, whatever length is claimed.
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

RequestReader::Outcome RequestReader::Read(std::string_view& input, std::size_t unpack_max) {
  if (!in_body_) {
    const Outcome outcome = ReadHead(input);
    if (outcome != Outcome::kRequest || !in_body_) return outcome;
    if (streamed_) return Outcome::kHead;
  }
  return ReadBody(input, unpack_max);
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
  const BodyTerms terms = handler_.TermsOfBody(request_);
  if (facts.content_length > terms.bytes_max) return Refuse(kTooLarge);
  body_.Begin(facts, terms.bytes_max,
              terms.streamed ? BodyDecoder::Ratio::kAny : BodyDecoder::Ratio::kBounded);
  in_body_ = true;
  streamed_ = terms.streamed || IsRefusedByHead(input);
  unproven_ = terms.unproven;
  if (!streamed_) {
    request_.body.reserve(
        static_cast<std::size_t>(std::min<std::uint64_t>(facts.content_length, kBodyReserveMax)));
  }
  continue_due_ = facts.expects_continue;
  return Outcome::kRequest;
}

// A body that has already arrived costs nothing to take, so the handler is asked only about others.
bool RequestReader::IsRefusedByHead(std::string_view input) {
  const HeadFacts& facts = head_.facts();
  const bool is_here = facts.framing == BodyFraming::kLength && !facts.gzip_body &&
                       facts.content_length <= input.size();
  sender_.reset();
  if (is_here) return false;
  Sender sender = handler_.SenderOf(request_);
  if (sender.standing == Sender::Standing::kKnown) sender_ = std::move(sender.name);
  return sender.standing == Sender::Standing::kRefused;
}

RequestReader::Outcome RequestReader::ReadBody(std::string_view& input, std::size_t unpack_max) {
  if (!input.empty()) continue_due_ = false;
  constexpr std::size_t kNoEnd = std::numeric_limits<std::size_t>::max();
  const bool packed = head_.facts().gzip_body;
  const std::size_t before = request_.body.size();
  const auto outcome = body_.Read(input, packed ? before + unpack_max : kNoEnd, request_.body);
  if (packed) unpacked_ += request_.body.size() - before;
  switch (outcome) {
    case BodyDecoder::Outcome::kRefused:
      return Refuse(body_.refusal());
    case BodyDecoder::Outcome::kDone:
      in_body_ = false;
      return Outcome::kRequest;
    case BodyDecoder::Outcome::kFull:
      return Outcome::kPaused;
    default:
      return Outcome::kMore;
  }
}

ServerRequest RequestReader::TakeHead() {
  ServerRequest request;
  request.peer_address = request_.peer_address;
  request.secure = request_.secure;
  std::swap(request, request_);
  return request;
}

ServerRequest RequestReader::TakeRequest() {
  head_.Reset();
  return TakeHead();
}

BodyDecoder::Outcome RequestReader::ReadPiece(std::string_view& input, std::size_t piece_bytes_max,
                                              std::string& piece) {
  if (!input.empty()) continue_due_ = false;
  const BodyDecoder::Outcome outcome = body_.Read(input, piece_bytes_max, piece);
  if (outcome == BodyDecoder::Outcome::kRefused) Refuse(body_.refusal());
  if (outcome == BodyDecoder::Outcome::kDone) {
    in_body_ = false;
    head_.Reset();
  }
  return outcome;
}

bool RequestReader::TakeContinue() { return std::exchange(continue_due_, false); }

}  // namespace everstep
