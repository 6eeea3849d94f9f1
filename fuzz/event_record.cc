#include "event/event_record.h"

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace everstep;
  const std::string_view input = AsText(bytes, size);
  RequireRoundTrip(input, DecodeEventRecord, EncodeEventRecord);
  RequireRoundTrip(WithChecksum(input), DecodeEventRecord, EncodeEventRecord);
  return 0;
}
