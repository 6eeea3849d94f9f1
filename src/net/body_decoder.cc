#include "net/body_decoder.h"

#include <algorithm>

namespace everstep {
namespace {

constexpr HttpRefusal kTooLarge = {413, "CONTENT_TOO_LARGE", "the body is too large"};
constexpr HttpRefusal kTooDense = {
    413, "CONTENT_TOO_LARGE",
    "the body unpacks to more than 100 times its size; send it without Content-Encoding"};
constexpr std::uint64_t kRatioMax = 100;
constexpr std::uint64_t kRatioFree = 64 << 10;
constexpr HttpRefusal kNotGzip = {400, "BAD_REQUEST", "the body is not gzip"};

}  // namespace

void BodyDecoder::Begin(const HeadFacts& facts, std::uint64_t bytes_max, Ratio ratio) {
  bytes_max_ = bytes_max;
  left_ = facts.content_length;
  chunked_ = facts.framing == BodyFraming::kChunked;
  chunks_.Reset();
  gunzip_ = facts.gzip_body ? std::make_unique<GunzipStream>() : nullptr;
  ratio_ = ratio;
  length_ = chunked_ ? 0 : facts.content_length;
  packed_bytes_ = 0;
  unpacked_bytes_ = 0;
  unpacked_ = false;
}

std::uint64_t BodyDecoder::AllowedAfter(std::uint64_t packed_bytes) const {
  if (ratio_ == Ratio::kAny) return bytes_max_;
  return std::min(bytes_max_, kRatioFree + kRatioMax * std::max(packed_bytes, length_));
}

BodyDecoder::Outcome BodyDecoder::Refuse(const HttpRefusal& refusal) {
  refusal_ = refusal;
  gunzip_.reset();
  return Outcome::kRefused;
}

BodyDecoder::Outcome BodyDecoder::Read(std::string_view& input, std::size_t out_bytes_max,
                                       std::string& out) {
  while (true) {
    std::string_view content;
    const Outcome found = Find(input, content);
    if (found == Outcome::kRefused) return found;
    const bool last = found == Outcome::kDone;
    const std::size_t size = content.size();
    const Outcome decoded = gunzip_ != nullptr ? Unpack(content, last, out_bytes_max, out)
                                               : Copy(content, out_bytes_max, out);
    const std::size_t used = size - content.size();
    input.remove_prefix(used);
    if (chunked_) {
      chunks_.Consume(used);
    } else {
      left_ -= used;
    }
    if (decoded != Outcome::kMore) return decoded;
    if (last) {
      gunzip_.reset();
      return Outcome::kDone;
    }
    if (size == 0) return Outcome::kMore;
  }
}

BodyDecoder::Outcome BodyDecoder::Find(std::string_view& input, std::string_view& content) {
  if (!chunked_) {
    content =
        input.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size())));
    return left_ == 0 ? Outcome::kDone : Outcome::kMore;
  }
  switch (chunks_.Next(input, bytes_max_, content)) {
    case ChunkedBody::Outcome::kRefused:
      return Refuse(chunks_.refusal());
    case ChunkedBody::Outcome::kDone:
      return Outcome::kDone;
    case ChunkedBody::Outcome::kMore:
      break;
  }
  return Outcome::kMore;
}

BodyDecoder::Outcome BodyDecoder::Copy(std::string_view& content, std::size_t out_bytes_max,
                                       std::string& out) {
  const std::size_t taken = std::min(content.size(), out_bytes_max - out.size());
  out.append(content.substr(0, taken));
  content.remove_prefix(taken);
  return content.empty() ? Outcome::kMore : Outcome::kFull;
}

BodyDecoder::Outcome BodyDecoder::Unpack(std::string_view& content, bool last,
                                         std::size_t out_bytes_max, std::string& out) {
  if (!unpacked_) {
    // One byte too many is enough to detect the excess.
    const std::size_t given = content.size();
    const std::uint64_t unpacked_max = AllowedAfter(packed_bytes_ + given);
    const std::uint64_t allowed = unpacked_max - std::min(unpacked_max, unpacked_bytes_) + 1;
    const std::size_t before = out.size();
    const std::size_t room =
        static_cast<std::size_t>(std::min<std::uint64_t>(out_bytes_max - before, allowed));
    const GunzipStream::Outcome outcome = gunzip_->Read(content, before + room, out);
    unpacked_bytes_ += out.size() - before;
    packed_bytes_ += given - content.size();
    if (unpacked_bytes_ > unpacked_max) {
      out.pop_back();
      return Refuse(unpacked_max == bytes_max_ ? kTooLarge : kTooDense);
    }
    if (outcome == GunzipStream::Outcome::kFull) return Outcome::kFull;
    if (outcome == GunzipStream::Outcome::kCorrupt) return Refuse(kNotGzip);
    unpacked_ = outcome == GunzipStream::Outcome::kDone;
  }
  const bool wrong = unpacked_ ? !content.empty() : last;
  return wrong ? Refuse(kNotGzip) : Outcome::kMore;
}

}  // namespace everstep
