#include <algorithm>

#include "fuzz/fuzz.h"
#include "net/http_answer_reader.h"

namespace everstep {
namespace {

using Outcome = HttpAnswerReader::Outcome;
constexpr std::size_t kBytesMax = 1'000;

struct Reading {
  Outcome outcome = Outcome::kMore;
  HttpResponse response;
};

Reading ReadIn(std::string_view text, std::size_t piece) {
  HttpAnswerReader reader(true, kBytesMax);
  Reading reading;
  while (!text.empty() && reading.outcome == Outcome::kMore) {
    const std::size_t size = std::min(piece, text.size());
    reading.outcome = reader.Read(text.substr(0, size));
    text.remove_prefix(size);
  }
  if (reading.outcome == Outcome::kDone) {
    reading.response = reader.TakeResponse();
    FUZZ_REQUIRE(reading.response.status >= 200 && reading.response.status <= 999);
    FUZZ_REQUIRE(reading.response.body.size() <= kBytesMax);
  }
  return reading;
}

}  // namespace
}  // namespace everstep

// A valid response must be read in the same way however it is split into pieces. The converse does
// not hold: read in pieces, a response with trailing bytes may be valid too.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace everstep;
  const std::string_view text = AsText(bytes, size);
  const Reading whole = ReadIn(text, std::max<std::size_t>(1, size));
  const Reading pieces = ReadIn(text, 1);
  if (whole.outcome != Outcome::kDone) return 0;
  FUZZ_REQUIRE(pieces.outcome == Outcome::kDone);
  FUZZ_REQUIRE(pieces.response.body == whole.response.body);
  FUZZ_REQUIRE(pieces.response.headers == whole.response.headers);
  return 0;
}
