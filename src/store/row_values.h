#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/state_store.h"

namespace everstep {

// 2: there is a MARK (store/store_mark.h), and counts and heads say more than in 1.
inline constexpr std::uint64_t kStoreFormat = 2;
inline constexpr std::uint64_t kStoreFormatWithMark = 2;

// How far the store had come when rows that would tell were removed.
struct StoreHeads {
  RunNo last_run;
  Position last_position;
  Timestamp last_persisted_at{};
  Position outbox_front{1};  // no row lies before it
  // The last change whose events were persisted before the latest time until then, because the
  // clock had been set back, and the longest distance of all such. Zero: there is none.
  Position set_back_until;
  std::chrono::microseconds set_back_by{0};

  // Takes note of a change that was persisted at `time`. Answers its place in the order of time:
  // the latest time until then.
  Timestamp Place(Position position, Timestamp time);
};

// A change in the outbox.
struct OutboxChange {
  RunNo run;
  EventSeq first_seq;
  EventSeq last_seq;
  Timestamp committed_at{};  // as in OutboxEntry
};
// An outbox row: neighbours in the order of commits. Its key is the position of the last.
struct OutboxRow {
  Position first;
  std::vector<OutboxChange> changes;  // at least one
};

// The values of the store's own small rows (grammar: docs/formats.md). Encoding appends; decoding
// answers nothing for bytes that it did not write.
void EncodeNumber(std::uint64_t number, std::string& out);  // format version, run number, sequence
std::optional<std::uint64_t> DecodeNumber(std::string_view bytes);
void EncodeCounts(const StoreCounts& counts, std::string& out);
std::optional<StoreCounts> DecodeCounts(std::string_view bytes);
void EncodeHeads(const StoreHeads& heads, std::string& out);
std::optional<StoreHeads> DecodeHeads(std::string_view bytes);
void EncodeTombstone(const Tombstone& tombstone, std::string& out);
std::optional<Tombstone> DecodeTombstone(std::string_view bytes);
void EncodeOutboxChange(const OutboxChange& change, std::string& out);  // one of those in a row
std::optional<OutboxRow> DecodeOutbox(Position last, std::string_view bytes);
void EncodeHolder(const HookHolder& holder, std::string& out);
std::optional<HookHolder> DecodeHolder(std::string_view bytes);
// Without its key.
void EncodeSinkMark(const SinkMark& mark, std::string& out);
std::optional<SinkMark> DecodeSinkMark(std::string_view bytes);
// Without run and seq, which are in its key.
void EncodeDeadLetter(const DeadLetter& letter, std::string& out);
std::optional<DeadLetter> DecodeDeadLetter(std::string_view bytes);
// The run row: id, then the state's own record.
void EncodeRunRow(const RunId& run_id, const RunState& state, std::string& out);
struct RunRowParts {
  std::string_view run_id;
  std::string_view state;  // for DecodeRunState
};
std::optional<RunRowParts> SplitRunRow(std::string_view bytes);

}  // namespace everstep
