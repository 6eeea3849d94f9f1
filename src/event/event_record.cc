#include "event/event_record.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace everstep {
namespace {

constexpr std::uint8_t kFormat = 1;
constexpr std::size_t kCrcSize = 4;

// The optional fields of a record. The flags are stored as one varint, so frequent ones use the low
// bits.
enum Flag : std::uint32_t {
  kEntityId = 1U << 0,
  kPayload = 1U << 1,
  kPreviousOfEntity = 1U << 2,
  kPreviousOfType = 1U << 3,
  kEmittedAt = 1U << 4,
  kEmittedBy = 1U << 5,
  kParentId = 1U << 6,
  kLogicalAttempt = 1U << 7,
  kEngineAttempt = 1U << 8,
  kInstanceId = 1U << 9,
  kAttributes = 1U << 10,
  kErrorCode = 1U << 11,
  kErrorMessage = 1U << 12,
  kWillRetry = 1U << 13,
  kRetryable = 1U << 14,
  kDueAt = 1U << 15,
  kStartedAt = 1U << 16,
  kToken = 1U << 17,
  kEngineRunRef = 1U << 18,
  kArtifacts = 1U << 19,
  kRevisit = 1U << 20,
  kEscalation = 1U << 21,
  kLate = 1U << 22,
};
constexpr std::uint32_t kAllFlags = (1U << 23) - 1;
constexpr std::size_t kOptionalTexts = 11;

// Visits the optional texts in the order of the record. `E` is Event or const Event.
template <typename E, typename Visit>
void ForEachText(E& event, Visit visit) {
  visit(kEntityId, event.entity_id);
  visit(kInstanceId, event.instance_id);
  visit(kParentId, event.parent_id);
  visit(kEmittedBy, event.emitted_by);
  visit(kToken, event.facts.token);
  visit(kErrorCode, event.facts.error_code);
  visit(kErrorMessage, event.facts.error_message);
  visit(kEngineRunRef, event.facts.engine_run_ref);
  visit(kArtifacts, event.facts.artifacts);
  visit(kPayload, event.payload);
  visit(kAttributes, event.attributes);
}

std::uint64_t Number(Timestamp time) { return static_cast<std::uint64_t>(Micros(time)); }

// The part of a record before the texts. Built on the stack, so that it needs one append only.
class Head {
 public:
  void Byte(std::uint8_t value) { bytes_[size_++] = static_cast<char>(value); }
  void Varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) Byte(static_cast<std::uint8_t>(value | 0x80));
    Byte(static_cast<std::uint8_t>(value));
  }
  // Microseconds between two times modulo 2^64, so that every pair can be represented. Zigzag, so
  // that small differences in both directions are short.
  void Time(Timestamp from, Timestamp to) {
    const std::uint64_t distance = Number(to) - Number(from);
    Varint(distance << 1 ^ (0 - (distance >> 63)));
  }
  std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  // Three bytes, then varints of at most ten bytes: flags, nine numbers, the lengths of the texts.
  std::array<char, 3 + 10 * (1 + 9 + 1 + kOptionalTexts)> bytes_;
  std::size_t size_ = 0;
};

std::uint32_t FlagsOf(const Event& event) {
  std::uint32_t flags = 0;
  const auto set_if = [&flags](bool condition, Flag flag) { flags |= condition ? flag : 0U; };
  ForEachText(event, [&](Flag flag, const std::string& text) { set_if(!text.empty(), flag); });
  set_if(event.previous_of_entity != EventSeq(), kPreviousOfEntity);
  set_if(event.previous_of_type != EventSeq(), kPreviousOfType);
  set_if(event.emitted_at != event.persisted_at, kEmittedAt);
  set_if(event.logical_attempt != 1, kLogicalAttempt);
  set_if(event.engine_attempt != 1, kEngineAttempt);
  set_if(event.facts.due_at != Timestamp(), kDueAt);
  set_if(event.facts.started_at != Timestamp(), kStartedAt);
  set_if(event.facts.will_retry, kWillRetry);
  set_if(event.facts.retryable, kRetryable);
  set_if(event.facts.revisit, kRevisit);
  set_if(event.facts.escalation, kEscalation);
  set_if(event.facts.late, kLate);
  return flags;
}

// Reads what Head wrote. Like ByteReader, errors are sticky: it is enough to check ok() at the end.
class Fields {
 public:
  explicit Fields(std::string_view body) : in_(body) {}

  std::uint8_t Byte() { return in_.U8(); }
  std::uint64_t Varint() { return in_.Varint(); }
  std::string_view Text(std::uint64_t size) { return in_.Raw(size); }
  void ReadFlags() { flags_ = in_.Varint(); }
  bool Has(Flag flag) const { return (flags_ & flag) != 0; }

  Timestamp Time(Timestamp from) {
    const auto distance = static_cast<std::uint64_t>(in_.SignedVarint());
    return FromMicros(static_cast<std::int64_t>(Number(from) + distance));
  }
  Timestamp TimeIf(Flag flag, Timestamp from, Timestamp otherwise) {
    return Has(flag) ? Time(from) : otherwise;
  }
  EventSeq PreviousIf(Flag flag, EventSeq from) {
    return Has(flag) ? EventSeq(from.value() - in_.Varint()) : EventSeq();
  }
  std::uint32_t AttemptIf(Flag flag) {
    const std::uint64_t attempt = Has(flag) ? in_.Varint() : 1;
    fits_ = fits_ && attempt <= std::numeric_limits<std::uint32_t>::max();
    return static_cast<std::uint32_t>(attempt);
  }
  // True if all fields were present and in range, and no bytes are left.
  bool ok() const { return in_.ok() && in_.AtEnd() && fits_ && flags_ <= kAllFlags; }

 private:
  ByteReader in_;
  std::uint64_t flags_ = 0;
  bool fits_ = true;
};

void ReadTexts(Fields& fields, Event& event) {
  const std::uint64_t event_id_size = fields.Varint();
  std::array<std::uint64_t, kOptionalTexts> sizes{};
  std::size_t next = 0;
  ForEachText(event, [&](Flag flag, std::string&) {
    sizes[next++] = fields.Has(flag) ? fields.Varint() : 0;
  });
  event.event_id = fields.Text(event_id_size);
  next = 0;
  ForEachText(event, [&](Flag, std::string& text) {
    if (const std::uint64_t size = sizes[next++]; size != 0) text = fields.Text(size);
  });
}

// Decodes into a new event. Returns an error message, or null on success.
const char* Read(std::string_view bytes, Event& event) {
  if (bytes.size() < kCrcSize) return "event record: too short";
  const std::string_view body = bytes.substr(0, bytes.size() - kCrcSize);
  if (ByteReader(bytes.substr(body.size())).U32() != Crc32c(body)) {
    return "event record: checksum does not match";
  }
  Fields fields(body);
  if (fields.Byte() != kFormat) return "event record: unknown format";
  event.type = static_cast<EventType>(fields.Byte());
  event.version = fields.Byte();
  fields.ReadFlags();
  event.seq = EventSeq(fields.Varint());
  event.persisted_at = fields.Time(Timestamp());
  event.emitted_at = fields.TimeIf(kEmittedAt, event.persisted_at, event.persisted_at);
  event.logical_attempt = fields.AttemptIf(kLogicalAttempt);
  event.engine_attempt = fields.AttemptIf(kEngineAttempt);
  event.previous_of_entity = fields.PreviousIf(kPreviousOfEntity, event.seq);
  event.previous_of_type = fields.PreviousIf(kPreviousOfType, event.seq);
  event.facts.due_at = fields.TimeIf(kDueAt, event.persisted_at, Timestamp());
  event.facts.started_at = fields.TimeIf(kStartedAt, event.persisted_at, Timestamp());
  event.facts.will_retry = fields.Has(kWillRetry);
  event.facts.retryable = fields.Has(kRetryable);
  event.facts.revisit = fields.Has(kRevisit);
  event.facts.escalation = fields.Has(kEscalation);
  event.facts.late = fields.Has(kLate);
  ReadTexts(fields, event);
  return fields.ok() ? nullptr : "event record: malformed";
}

}  // namespace

void EncodeEventRecord(const Event& event, std::string& out) {
  const std::size_t begin = out.size();
  const std::uint32_t flags = FlagsOf(event);
  const auto has = [flags](Flag flag) { return (flags & flag) != 0; };
  const std::uint64_t seq = event.seq.value();

  Head head;
  head.Byte(kFormat);
  head.Byte(static_cast<std::uint8_t>(event.type));
  head.Byte(event.version);
  head.Varint(flags);
  head.Varint(seq);
  head.Time(Timestamp(), event.persisted_at);
  if (has(kEmittedAt)) head.Time(event.persisted_at, event.emitted_at);
  if (has(kLogicalAttempt)) head.Varint(event.logical_attempt);
  if (has(kEngineAttempt)) head.Varint(event.engine_attempt);
  if (has(kPreviousOfEntity)) head.Varint(seq - event.previous_of_entity.value());
  if (has(kPreviousOfType)) head.Varint(seq - event.previous_of_type.value());
  if (has(kDueAt)) head.Time(event.persisted_at, event.facts.due_at);
  if (has(kStartedAt)) head.Time(event.persisted_at, event.facts.started_at);
  head.Varint(event.event_id.size());
  std::size_t texts_size = event.event_id.size();
  ForEachText(event, [&](Flag, const std::string& text) {
    if (!text.empty()) head.Varint(text.size());
    texts_size += text.size();
  });

  // Grow by doubling: exact reservations would copy a caller's batch at every event.
  const std::size_t size = begin + head.text().size() + texts_size + kCrcSize;
  if (out.capacity() < size) out.reserve(std::max(size, 2 * out.capacity()));
  out.append(head.text());
  out.append(event.event_id);
  ForEachText(event, [&](Flag, const std::string& text) { out.append(text); });
  ByteWriter(out).U32(Crc32c(std::string_view(out).substr(begin)));
}

Result<Event> DecodeEventRecord(std::string_view bytes) {
  // Decode into the result in place: events are expensive to move, and replay decodes all of them.
  Result<Event> decoded = Event();
  if (const char* fault = Read(bytes, *decoded)) {
    decoded = Error{ErrorCode::kStoreCorrupt, fault, {}};
  }
  return decoded;
}

}  // namespace everstep
