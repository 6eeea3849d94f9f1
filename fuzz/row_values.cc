#include "store/row_values.h"

#include "fuzz/fuzz.h"

namespace {

void EncodeHookHolder(const everstep::HookHolder& holder, std::string& out) {
  everstep::EncodeHolder(holder, out);
}

std::optional<everstep::OutboxRow> DecodeOutboxRow(std::string_view bytes) {
  return everstep::DecodeOutbox(everstep::Position(UINT64_MAX), bytes);
}

void EncodeOutboxRow(const everstep::OutboxRow& row, std::string& out) {
  for (const everstep::OutboxChange& change : row.changes) {
    everstep::EncodeOutboxChange(change, out);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace everstep;
  const std::string_view input = AsText(bytes, size);
  for (const std::string& row : {std::string(input), WithChecksum(input)}) {
    RequireStableForm(row, DecodeNumber, EncodeNumber);
    RequireStableForm(row, DecodeCounts, EncodeCounts);
    RequireStableForm(row, DecodeHeads, EncodeHeads);
    RequireStableForm(row, DecodeTombstone, EncodeTombstone);
    RequireStableForm(row, DecodeOutboxRow, EncodeOutboxRow);
    RequireStableForm(row, DecodeHolder, EncodeHookHolder);
    RequireStableForm(row, DecodeSinkMark, EncodeSinkMark);
    RequireStableForm(row, DecodeDeadLetter, EncodeDeadLetter);
    if (const auto parts = SplitRunRow(row)) {
      const auto state = DecodeRunState(parts->state);
      if (!state) continue;
      std::string encoded;
      EncodeRunRow(RunId(std::string(parts->run_id)), *state, encoded);
      const auto again = SplitRunRow(encoded);
      FUZZ_REQUIRE(again);
      FUZZ_REQUIRE(again->run_id == parts->run_id);
    }
  }
  return 0;
}
