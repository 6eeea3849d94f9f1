#include "net/http_parser.h"

#include <algorithm>

#include "fuzz/fuzz.h"
#include "net/http_text.h"
#include "net/request_reader.h"

namespace everstep {
namespace {

constexpr std::size_t kBodyBytesMax = 4'096;
constexpr HeadLimits kLimits{.head_bytes_max = 2'048, .headers_max = 20, .target_bytes_max = 256};

class NoHandler final : public HttpHandler {
 public:
  void Handle(HttpCall /*call*/) override {}
  BodyTerms TermsOfBody(const ServerRequest& head) override {
    return {kBodyBytesMax, head.path.starts_with("/s")};
  }
};

// The result of reading the bytes: the requests in order, and the refusal if there was one.
struct Reading {
  std::vector<ServerRequest> requests;
  int refused = 0;  // the status; zero: not refused
};

void RequireSound(const ServerRequest& request) {
  FUZZ_REQUIRE(IsToken(request.method));
  FUZZ_REQUIRE(request.path.starts_with('/'));
  FUZZ_REQUIRE(request.path.find_first_of("\r\n #?") == std::string::npos);
  FUZZ_REQUIRE(request.query.find_first_of("\r\n #") == std::string::npos);
  FUZZ_REQUIRE(request.body.size() <= kBodyBytesMax);
  FUZZ_REQUIRE(request.headers.size() <= kLimits.headers_max);
  const auto count = [&](std::string_view name) {
    return std::count_if(request.headers.begin(), request.headers.end(),
                         [&](const auto& header) { return header.first == name; });
  };
  FUZZ_REQUIRE(count("host") <= 1);
  FUZZ_REQUIRE(count("content-length") + count("transfer-encoding") <= 1);
  for (const auto& [name, value] : request.headers) {
    FUZZ_REQUIRE(IsToken(name));
    FUZZ_REQUIRE(IsFieldText(value));
  }
}

// Reads the available part of a streamed body. Returns false if more input is needed.
bool ReadPieces(RequestReader& reader, std::string_view& input, Reading& reading) {
  constexpr std::size_t kRoom = 100;
  while (true) {
    std::string piece;
    const BodyDecoder::Outcome outcome = reader.ReadPiece(input, kRoom, piece);
    FUZZ_REQUIRE(piece.size() <= kRoom);
    reading.requests.back().body += piece;
    RequireSound(reading.requests.back());
    if (outcome == BodyDecoder::Outcome::kMore) FUZZ_REQUIRE(input.empty());
    if (outcome == BodyDecoder::Outcome::kRefused) reading.refused = reader.refusal().status;
    if (outcome != BodyDecoder::Outcome::kFull) return outcome == BodyDecoder::Outcome::kDone;
  }
}

// Passes the bytes to a reader `piece` bytes at a time, as a connection does.
Reading Read(std::string_view bytes, std::size_t piece) {
  NoHandler handler;
  RequestReader reader(kLimits, handler);
  Reading reading;
  std::string unread;
  bool streaming = false;
  bool paused = false;  // a compressed body has more output without further input
  while (!bytes.empty()) {
    unread += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    std::string_view input = unread;
    while (!input.empty() || paused) {
      if (streaming) {
        streaming = !ReadPieces(reader, input, reading);
        if (reading.refused != 0) return reading;
        continue;
      }
      const RequestReader::Outcome outcome = reader.Read(input, piece);
      if (outcome == RequestReader::Outcome::kRefused) {
        reading.refused = reader.refusal().status;
        return reading;
      }
      paused = outcome == RequestReader::Outcome::kPaused;
      if (paused) continue;
      if (outcome == RequestReader::Outcome::kMore) break;
      streaming = outcome == RequestReader::Outcome::kHead;
      reading.requests.push_back(streaming ? reader.TakeHead() : reader.TakeRequest());
      RequireSound(reading.requests.back());
    }
    unread.erase(0, unread.size() - input.size());
    FUZZ_REQUIRE(unread.size() <= kLimits.head_bytes_max + 4 + piece);
  }
  return reading;
}

}  // namespace
}  // namespace everstep

// The requests must be the same however the bytes are split.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace everstep;
  const std::string_view input = AsText(bytes, size);
  const Reading whole = Read(input, std::max<std::size_t>(size, 1));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}}) {
    const Reading cut = Read(input, piece);
    FUZZ_REQUIRE((cut.refused != 0) == (whole.refused != 0));
    FUZZ_REQUIRE(cut.requests.size() == whole.requests.size());
    for (std::size_t i = 0; i < cut.requests.size(); ++i) {
      FUZZ_REQUIRE(cut.requests[i].method == whole.requests[i].method);
      FUZZ_REQUIRE(cut.requests[i].path == whole.requests[i].path);
      FUZZ_REQUIRE(cut.requests[i].query == whole.requests[i].query);
      FUZZ_REQUIRE(cut.requests[i].headers == whole.requests[i].headers);
      FUZZ_REQUIRE(cut.requests[i].body == whole.requests[i].body);
    }
  }
  return 0;
}
