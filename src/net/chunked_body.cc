#include "net/chunked_body.h"

#include <algorithm>

#include "net/http_text.h"

namespace everstep {
namespace {

// Limits for a whole body.
constexpr std::size_t kExtensionBytesMax = 4 << 10;
constexpr std::size_t kTrailerBytesMax = 8 << 10;
// A size with more digits is always too large, and with so many it cannot overflow.
constexpr std::uint8_t kSizeDigitsMax = 15;

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  const char lower = LowerCase(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

void ChunkedBody::Refuse(int status, std::string_view code, std::string_view detail) {
  refusal_ = {status, code, detail};
  place_ = Place::kRefused;
}

ChunkedBody::Outcome ChunkedBody::Next(std::string_view& input, std::uint64_t body_bytes_max,
                                       std::string_view& content) {
  content = {};
  while (!input.empty() && place_ != Place::kDone && place_ != Place::kRefused) {
    if (place_ == Place::kContent) {
      content =
          input.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size())));
      return Outcome::kMore;
    }
    Step(input.front());
    input.remove_prefix(1);
    if (place_ != Place::kContent) continue;
    if (left_ > body_bytes_max - body_bytes_) {
      Refuse(413, "CONTENT_TOO_LARGE", "the body is too large");
    } else {
      body_bytes_ += left_;
    }
  }
  if (place_ == Place::kRefused) return Outcome::kRefused;
  return place_ == Place::kDone ? Outcome::kDone : Outcome::kMore;
}

void ChunkedBody::Consume(std::size_t bytes) {
  if (bytes == 0) return;
  left_ -= bytes;
  if (left_ == 0) place_ = Place::kContentCr;
}

ChunkedBody::Outcome ChunkedBody::Read(std::string_view& input, std::uint64_t body_bytes_max,
                                       std::string& body) {
  while (true) {
    std::string_view content;
    const Outcome outcome = Next(input, body_bytes_max, content);
    if (content.empty()) return outcome;
    body.append(content);
    input.remove_prefix(content.size());
    Consume(content.size());
  }
}

void ChunkedBody::Expect(char c, char wanted, Place next) {
  if (c == wanted) {
    place_ = next;
  } else {
    Refuse(400, "BAD_REQUEST", "a chunk does not match its size");
  }
}

void ChunkedBody::Step(char c) {
  switch (place_) {
    case Place::kSize:
      return StepSize(c);
    case Place::kExtension:
      if (++extension_bytes_ > kExtensionBytesMax) {
        return Refuse(400, "BAD_REQUEST", "the chunk extensions are too long");
      }
      if (c == '\r') {
        place_ = Place::kSizeEnd;
      } else if (!IsFieldText({&c, 1})) {
        Refuse(400, "BAD_REQUEST", "a chunk extension contains a control character");
      }
      return;
    case Place::kSizeEnd:
      digits_ = 0;
      return Expect(c, '\n', left_ == 0 ? Place::kLine : Place::kContent);
    case Place::kContentCr:
      return Expect(c, '\r', Place::kContentLf);
    case Place::kContentLf:
      return Expect(c, '\n', Place::kSize);
    case Place::kEnd:
      return Expect(c, '\n', Place::kDone);
    default:
      return StepTrailer(c);
  }
}

void ChunkedBody::StepSize(char c) {
  if (const int digit = HexValue(c); digit >= 0 && digits_ < kSizeDigitsMax) {
    left_ = left_ << 4 | static_cast<std::uint64_t>(digit);
    ++digits_;
  } else if (digits_ > 0 && c == '\r') {
    place_ = Place::kSizeEnd;
  } else if (digits_ > 0 && c == ';') {
    place_ = Place::kExtension;
  } else {
    Refuse(400, "BAD_REQUEST", "a chunk has an invalid size");
  }
}

void ChunkedBody::StepTrailer(char c) {
  if (++trailer_bytes_ > kTrailerBytesMax) {
    return Refuse(431, "HEADERS_TOO_LARGE", "the trailers are too large");
  }
  if (place_ == Place::kLine && c == '\r') {
    place_ = Place::kEnd;
  } else if (place_ == Place::kLine || place_ == Place::kName) {
    if (place_ == Place::kName && c == ':') {
      place_ = Place::kValue;
    } else if (IsTokenCharacter(c)) {
      place_ = Place::kName;
    } else {
      Refuse(400, "BAD_REQUEST", "a trailer is malformed");
    }
  } else if (place_ == Place::kValue) {
    if (c == '\r') {
      place_ = Place::kLineEnd;
    } else if (!IsFieldText({&c, 1})) {
      Refuse(400, "BAD_REQUEST", "a trailer contains a control character");
    }
  } else {
    Expect(c, '\n', Place::kLine);
  }
}

}  // namespace everstep
