#include <array>
#include <limits>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "machine/state.h"

namespace everstep {
namespace {

constexpr std::uint8_t kRowVersion = 1;
constexpr std::size_t kCrcBytes = 4;

static_assert(kEventTypeCount < 64, "the set of types that occurred is one 64-bit varint");

// Flags in the second byte of a run row, next to the status.
constexpr std::uint8_t kRunKeyV2 = 0x40;
constexpr std::uint8_t kRunInconsistent = 0x80;
// Flags in the second byte of an entity row, next to the status.
constexpr std::uint8_t kEntityRetryable = 0x40;
constexpr std::uint8_t kEntityWillRetry = 0x80;

// The optional fields, in the order of their presence bits and of their values in the row. Encoding
// and decoding share the lists so that they cannot diverge.
constexpr std::array kRunAttempts = {&RunState::pause_epoch, &RunState::engine_attempt};
constexpr std::array kRunTimes = {&RunState::updated_at, &RunState::started_at,
                                  &RunState::completed_at};
constexpr std::array kRunTexts = {&RunState::engine_run_ref, &RunState::error_code,
                                  &RunState::error_message, &RunState::artifacts};
constexpr std::array kRunCounts = {
    &RunState::steps_total,  &RunState::steps_running, &RunState::steps_succeeded,
    &RunState::steps_failed, &RunState::steps_skipped, &RunState::hooks_active,
    &RunState::waits_open,   &RunState::errors_open,
};
constexpr std::array kScopeTexts = {&RunScope::tenant_id, &RunScope::project_id,
                                    &RunScope::environment_id, &RunScope::plan_id,
                                    &RunScope::plan_version};

constexpr std::array kEntityTimes = {&EntityState::completed_at, &EntityState::due_at};
constexpr std::array kEntityTexts = {&EntityState::token, &EntityState::error_code,
                                     &EntityState::error_message, &EntityState::artifacts,
                                     &EntityState::parent_id};

bool IsSet(Timestamp time) { return time != Timestamp{}; }
bool IsSet(const std::string& text) { return !text.empty(); }
bool IsSet(std::uint64_t number) { return number != 0; }

// Assigns presence bits, starting with the lowest.
class PresenceWriter {
 public:
  template <typename Value>
  void Note(const Value& value) {
    if (IsSet(value)) bits_ |= next_;
    next_ <<= 1;
  }
  template <typename State, typename Fields>
  void NoteAll(const State& state, const Fields& fields) {
    for (const auto field : fields) Note(state.*field);
  }
  std::uint64_t bits() const { return bits_; }

 private:
  std::uint64_t bits_ = 0;
  std::uint64_t next_ = 1;
};

// Consumes presence bits in the same order. A field that is present but zero is not canonical,
// since Encode omits zero fields.
class PresenceReader {
 public:
  explicit PresenceReader(std::uint64_t bits) : bits_(bits) {}

  template <typename Value, typename Read>
  void Take(Value& value, const Read& read) {
    const bool present = (bits_ & 1) != 0;
    bits_ >>= 1;
    if (!present) return;
    value = read();
    if (!IsSet(value)) canonical_ = false;
  }
  bool Exhausted() const { return bits_ == 0 && canonical_; }

 private:
  std::uint64_t bits_;
  bool canonical_ = true;
};

// Like ByteWriter, but reserves the memory once, because these rows are written with every event.
// The caller must not write more numbers and text than it announced.
class RowWriter {
 public:
  RowWriter(std::string& out, std::size_t numbers_max, std::size_t text_bytes)
      : out_(out), begin_(out.size()) {
    out.resize(begin_ + kVarintBytesMax * numbers_max + text_bytes + kCrcBytes);
    at_ = out.data() + begin_;
  }

  void U8(std::uint8_t value) { *at_++ = static_cast<char>(value); }
  void Varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) U8(static_cast<std::uint8_t>(value | 0x80));
    U8(static_cast<std::uint8_t>(value));
  }
  void SignedVarint(std::int64_t value) {
    Varint((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void String(std::string_view value) {
    Varint(value.size());
    at_ = std::copy(value.begin(), value.end(), at_);
  }
  // Appends the checksum and truncates `out` after it.
  void Close() {
    const auto end = static_cast<std::size_t>(at_ - out_.data());
    EVERSTEP_ASSERT(end + kCrcBytes <= out_.size());
    out_.resize(end);
    ByteWriter(out_).U32(Crc32c(std::string_view(out_).substr(begin_)));
  }

 private:
  static constexpr std::size_t kVarintBytesMax = 10;

  std::string& out_;
  const std::size_t begin_;
  char* at_;
};

template <typename State, typename Fields>
std::size_t TextBytes(const State& state, const Fields& fields) {
  std::size_t bytes = 0;
  for (const auto field : fields) bytes += (state.*field).size();
  return bytes;
}

// The times of a row are close together, so all but one are stored as differences. The arithmetic
// is unsigned, so it wraps instead of overflowing and is exactly reversible.
void WriteTime(RowWriter& writer, Timestamp time, Timestamp base) {
  writer.SignedVarint(static_cast<std::int64_t>(static_cast<std::uint64_t>(Micros(time)) -
                                                static_cast<std::uint64_t>(Micros(base))));
}

Timestamp ReadTime(ByteReader& reader, Timestamp base) {
  return FromMicros(static_cast<std::int64_t>(static_cast<std::uint64_t>(reader.SignedVarint()) +
                                              static_cast<std::uint64_t>(Micros(base))));
}

// Returns false if the number is too large for the field.
bool ReadU32(ByteReader& reader, std::uint32_t& value) {
  const std::uint64_t wide = reader.Varint();
  value = static_cast<std::uint32_t>(wide);
  return wide <= std::numeric_limits<std::uint32_t>::max();
}

Error Corrupt(std::string_view row, std::string_view what) {
  std::string message(row);
  message.append(" row: ").append(what);
  return Error{ErrorCode::kStoreCorrupt, std::move(message), {}};
}

// Returns the row without its version and checksum. If it is not valid, returns nothing and sets
// `why`.
std::optional<std::string_view> OpenRow(std::string_view bytes, std::string_view& why) {
  if (bytes.size() < 1 + kCrcBytes) {
    why = "too short";
    return std::nullopt;
  }
  const std::string_view body = bytes.substr(0, bytes.size() - kCrcBytes);
  if (ByteReader(bytes.substr(body.size())).U32() != Crc32c(body)) {
    why = "checksum does not match";
    return std::nullopt;
  }
  if (static_cast<std::uint8_t>(body.front()) != kRowVersion) {
    why = "unknown version";
    return std::nullopt;
  }
  return body.substr(1);
}

void WriteHeads(RowWriter& writer, const RunState& state) {
  std::uint64_t occurred = 0;
  for (std::size_t type = 1; type < state.last_of_type.size(); ++type) {
    if (IsSet(state.last_of_type[type].value())) occurred |= std::uint64_t{1} << type;
  }
  writer.Varint(occurred);
  for (std::uint64_t left = occurred; left != 0; left &= left - 1) {
    const auto type = static_cast<std::size_t>(__builtin_ctzll(left));
    writer.Varint(state.last_seq.value() - state.last_of_type[type].value());
  }
}

bool ReadHeads(ByteReader& reader, RunState& state) {
  const std::uint64_t occurred = reader.Varint();
  if ((occurred & 1) != 0 || (occurred >> state.last_of_type.size()) != 0) return false;
  for (std::uint64_t left = occurred; left != 0; left &= left - 1) {
    const auto type = static_cast<std::size_t>(__builtin_ctzll(left));
    state.last_of_type[type] = EventSeq(state.last_seq.value() - reader.Varint());
    if (!IsSet(state.last_of_type[type].value())) return false;
  }
  return true;
}

bool ReadRunFields(ByteReader& reader, RunState& state) {
  bool in_range = true;
  PresenceReader presence(reader.Varint());
  const auto text = [&] { return std::string(reader.String()); };
  for (const auto field : kScopeTexts) state.scope.*field = text();
  state.last_seq = EventSeq(reader.Varint());
  state.created_at = FromMicros(reader.SignedVarint());
  for (const auto field : kRunAttempts) {
    presence.Take(state.*field, [&] {
      std::uint32_t value = 0;
      in_range = ReadU32(reader, value) && in_range;
      return value;
    });
  }
  for (const auto field : kRunTimes) {
    presence.Take(state.*field, [&] { return ReadTime(reader, state.created_at); });
  }
  for (const auto field : kRunTexts) presence.Take(state.*field, text);
  for (const auto field : kRunCounts) {
    presence.Take(state.*field, [&] { return reader.Varint(); });
  }
  return ReadHeads(reader, state) && presence.Exhausted() && in_range;
}

bool ReadEntityFields(ByteReader& reader, EntityState& state) {
  PresenceReader presence(reader.U8());
  bool in_range = ReadU32(reader, state.logical_attempt);
  in_range = ReadU32(reader, state.engine_attempt) && in_range;
  in_range = ReadU32(reader, state.starts) && in_range;
  state.occurrences = reader.Varint();
  state.first_seq = EventSeq(reader.Varint());
  state.last_seq = EventSeq(state.first_seq.value() + reader.Varint());
  presence.Take(state.started_at, [&] { return ReadTime(reader, Timestamp{}); });
  for (const auto field : kEntityTimes) {
    presence.Take(state.*field, [&] { return ReadTime(reader, state.started_at); });
  }
  for (const auto field : kEntityTexts) {
    presence.Take(state.*field, [&] { return std::string(reader.String()); });
  }
  return presence.Exhausted() && in_range;
}

}  // namespace

void EncodeRunState(const RunState& state, std::string& out) {
  PresenceWriter presence;
  presence.NoteAll(state, kRunAttempts);
  presence.NoteAll(state, kRunTimes);
  presence.NoteAll(state, kRunTexts);
  presence.NoteAll(state, kRunCounts);

  constexpr std::size_t kNumbersMax = 2 + 1 + kScopeTexts.size() + 2 + kRunAttempts.size() +
                                      kRunTimes.size() + kRunTexts.size() + kRunCounts.size() + 1 +
                                      kEventTypeCount;
  RowWriter writer(out, kNumbersMax,
                   TextBytes(state.scope, kScopeTexts) + TextBytes(state, kRunTexts));
  writer.U8(kRowVersion);
  writer.U8(static_cast<std::uint8_t>(static_cast<unsigned>(state.status) |
                                      (state.key_version == KeyVersion::kV2 ? kRunKeyV2 : 0u) |
                                      (state.inconsistent ? kRunInconsistent : 0u)));
  writer.Varint(presence.bits());
  for (const auto field : kScopeTexts) writer.String(state.scope.*field);
  writer.Varint(state.last_seq.value());
  writer.SignedVarint(Micros(state.created_at));
  for (const auto field : kRunAttempts) {
    if (IsSet(state.*field)) writer.Varint(state.*field);
  }
  for (const auto field : kRunTimes) {
    if (IsSet(state.*field)) WriteTime(writer, state.*field, state.created_at);
  }
  for (const auto field : kRunTexts) {
    if (IsSet(state.*field)) writer.String(state.*field);
  }
  for (const auto field : kRunCounts) {
    if (IsSet(state.*field)) writer.Varint(state.*field);
  }
  WriteHeads(writer, state);
  writer.Close();
}

Result<RunState> DecodeRunState(std::string_view bytes) {
  std::string_view why;
  const auto body = OpenRow(bytes, why);
  if (!body) return Corrupt("run", why);
  ByteReader reader(*body);
  RunState state;
  const std::uint8_t lead = reader.U8();
  const auto status = static_cast<std::uint8_t>(lead & ~(kRunKeyV2 | kRunInconsistent));
  if (status > static_cast<std::uint8_t>(RunStatus::kCancelled)) {
    return Corrupt("run", "unknown status");
  }
  state.status = static_cast<RunStatus>(status);
  state.key_version = (lead & kRunKeyV2) != 0 ? KeyVersion::kV2 : KeyVersion::kV1;
  state.inconsistent = (lead & kRunInconsistent) != 0;
  if (!ReadRunFields(reader, state) || !reader.ok() || !reader.AtEnd()) {
    return Corrupt("run", "malformed fields");
  }
  return state;
}

void EncodeEntityState(const EntityState& state, std::string& out) {
  PresenceWriter presence;
  presence.Note(state.started_at);
  presence.NoteAll(state, kEntityTimes);
  presence.NoteAll(state, kEntityTexts);

  constexpr std::size_t kNumbersMax = 3 + 6 + 1 + kEntityTimes.size() + kEntityTexts.size();
  RowWriter writer(out, kNumbersMax, TextBytes(state, kEntityTexts));
  writer.U8(kRowVersion);
  writer.U8(static_cast<std::uint8_t>(static_cast<unsigned>(state.status) |
                                      (state.retryable ? kEntityRetryable : 0u) |
                                      (state.will_retry ? kEntityWillRetry : 0u)));
  writer.U8(static_cast<std::uint8_t>(presence.bits()));
  writer.Varint(state.logical_attempt);
  writer.Varint(state.engine_attempt);
  writer.Varint(state.starts);
  writer.Varint(state.occurrences);
  writer.Varint(state.first_seq.value());
  writer.Varint(state.last_seq.value() - state.first_seq.value());
  if (IsSet(state.started_at)) WriteTime(writer, state.started_at, Timestamp{});
  for (const auto field : kEntityTimes) {
    if (IsSet(state.*field)) WriteTime(writer, state.*field, state.started_at);
  }
  for (const auto field : kEntityTexts) {
    if (IsSet(state.*field)) writer.String(state.*field);
  }
  writer.Close();
}

Result<EntityState> DecodeEntityState(std::string_view bytes) {
  std::string_view why;
  const auto body = OpenRow(bytes, why);
  if (!body) return Corrupt("entity", why);
  ByteReader reader(*body);
  EntityState state;
  const std::uint8_t lead = reader.U8();
  const auto status = static_cast<std::uint8_t>(lead & ~(kEntityRetryable | kEntityWillRetry));
  if (status > static_cast<std::uint8_t>(EntityStatus::kUnrecoverable)) {
    return Corrupt("entity", "unknown status");
  }
  state.status = static_cast<EntityStatus>(status);
  state.retryable = (lead & kEntityRetryable) != 0;
  state.will_retry = (lead & kEntityWillRetry) != 0;
  if (!ReadEntityFields(reader, state) || !reader.ok() || !reader.AtEnd()) {
    return Corrupt("entity", "malformed fields");
  }
  return state;
}

}  // namespace everstep
