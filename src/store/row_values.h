#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/state_store.h"

namespace everstep {

// Format 2 has a MARK (store/store_mark.h), and its counts and heads have more fields than those of
// format 1.
inline constexpr std::uint64_t kStoreFormat = 2;
inline constexpr std::uint64_t kStoreFormatWithMark = 2;
static_assert(kStoreFormatWithMark <= kStoreFormat);

// How far the store has come. Stored only where this can no longer be derived from the remaining
// rows.
struct StoreHeads {
  RunNo last_run;
  Position last_position;
  Timestamp last_persisted_at{};
  Position outbox_front{1};  // no outbox row precedes it
  // Set if the clock was set back: the last change whose events were persisted earlier than those
  // of a preceding change, and the largest such difference. Zero: there is none.
  Position set_back_until;
  std::chrono::microseconds set_back_by{0};

  // Records a change that was persisted at `time`. Returns its time in the outbox, which never goes
  // back: the latest time of all changes so far.
  Timestamp Place(Position position, Timestamp time);
};

// A change in the outbox.
struct OutboxChange {
  RunNo run;
  EventSeq first_seq;
  EventSeq last_seq;
  Timestamp committed_at{};  // as in OutboxEntry
};
// An outbox row: consecutive changes in commit order. Its key is the position of the last one.
struct OutboxRow {
  Position first;
  std::vector<OutboxChange> changes;  // at least one
};

// The values of the store's own small rows (grammar: docs/formats.md). Encoders append to `out`.
// Decoders return nothing if the bytes are malformed.
void EncodeNumber(std::uint64_t number, std::string& out);  // format version, run number, sequence
std::optional<std::uint64_t> DecodeNumber(std::string_view bytes);
void EncodeCounts(const StoreCounts& counts, std::string& out);
std::optional<StoreCounts> DecodeCounts(std::string_view bytes);
void EncodeHeads(const StoreHeads& heads, std::string& out);
std::optional<StoreHeads> DecodeHeads(std::string_view bytes);
// Without the tenant, which is the value of the row by age.
void EncodeTombstone(const Tombstone& tombstone, std::string& out);
std::optional<Tombstone> DecodeTombstone(std::string_view bytes);
void EncodeOutboxChange(const OutboxChange& change,
                        std::string& out);  // one of the changes of a row
std::optional<OutboxRow> DecodeOutbox(Position last, std::string_view bytes);
void EncodeHolder(const HookHolder& holder, std::string& out);
std::optional<HookHolder> DecodeHolder(std::string_view bytes);
// Without the key.
void EncodeSinkMark(const SinkMark& mark, std::string& out);
std::optional<SinkMark> DecodeSinkMark(std::string_view bytes);
// Without run and seq, which are in the key.
void EncodeDeadLetter(const DeadLetter& letter, std::string& out);
std::optional<DeadLetter> DecodeDeadLetter(std::string_view bytes);
// The run row: the id, then the record of the state.
void EncodeRunRow(const RunId& run_id, const RunState& state, std::string& out);
struct RunRowParts {
  std::string_view run_id;
  std::string_view state;  // for DecodeRunState
};
std::optional<RunRowParts> SplitRunRow(std::string_view bytes);

}  // namespace everstep
