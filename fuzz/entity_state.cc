#include "fuzz/fuzz.h"
#include "machine/state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace everstep;
  const std::string_view input = AsText(bytes, size);
  RequireRoundTrip(input, DecodeEntityState, EncodeEntityState);
  RequireRoundTrip(WithChecksum(input), DecodeEntityState, EncodeEntityState);
  return 0;
}
