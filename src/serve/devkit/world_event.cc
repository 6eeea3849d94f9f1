#include "serve/devkit/world_event.h"

#include <algorithm>
#include <charconv>

#include "base/ulid.h"

namespace everstep {
namespace {

using enum WorldEventType;

constexpr WorldEventSpec kEvents[] = {
    {kRunCreated, "run_created", EntityKind::kRun, "input"},
    {kRunStarted, "run_started", EntityKind::kRun, "input"},
    {kRunCompleted, "run_completed", EntityKind::kRun, "output"},
    {kRunFailed, "run_failed", EntityKind::kRun, "error"},
    {kRunCancelled, "run_cancelled", EntityKind::kRun, {}},
    {kStepCreated, "step_created", EntityKind::kStep, "input"},
    {kStepStarted, "step_started", EntityKind::kStep, "input"},
    {kStepCompleted, "step_completed", EntityKind::kStep, "result"},
    {kStepFailed, "step_failed", EntityKind::kStep, "error"},
    {kStepRetrying, "step_retrying", EntityKind::kStep, "error"},
    {kHookCreated, "hook_created", EntityKind::kHook, "metadata"},
    {kHookReceived, "hook_received", EntityKind::kHook, "payload"},
    {kHookDisposed, "hook_disposed", EntityKind::kHook, {}},
    {kWaitCreated, "wait_created", EntityKind::kWait, {}},
    {kWaitCompleted, "wait_completed", EntityKind::kWait, {}},
    {kAttrSet, "attr_set", EntityKind::kContext, {}},
};

constexpr std::string_view kPrefix = "evnt_";
constexpr std::size_t kDigits = 26;

}  // namespace

const WorldEventSpec* FindWorldEvent(std::string_view name) {
  const auto found = std::ranges::find(kEvents, name, &WorldEventSpec::name);
  return found == std::end(kEvents) ? nullptr : &*found;
}

std::string_view PayloadMemberOf(std::string_view event_name) {
  const WorldEventSpec* spec = FindWorldEvent(event_name);
  return spec == nullptr ? std::string_view() : spec->payload_member;
}

std::string EventIdOf(EventSeq seq) {
  const std::string digits = std::to_string(seq.value());
  std::string id;
  id.reserve(kPrefix.size() + kDigits);
  return id.append(kPrefix).append(kDigits - digits.size(), '0').append(digits);
}

std::optional<EventSeq> SeqOfEventId(std::string_view event_id) {
  if (event_id.size() != kPrefix.size() + kDigits || !event_id.starts_with(kPrefix)) {
    return std::nullopt;
  }
  std::uint64_t seq = 0;
  const char* const end = event_id.data() + event_id.size();
  const auto read = std::from_chars(event_id.data() + kPrefix.size(), end, seq);
  if (read.ec != std::errc() || read.ptr != end || seq == 0) return std::nullopt;
  return EventSeq(seq);
}

Timestamp TimeOfId(std::string_view id) {
  constexpr std::string_view kAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  constexpr std::size_t kTimeCharacters = 10;
  const std::string_view ulid = id.substr(std::min(id.size(), id.find('_') + 1));
  if (!IsUlid(ulid)) return {};
  std::int64_t millis = 0;
  for (const char c : ulid.substr(0, kTimeCharacters)) {
    millis = millis << 5 | static_cast<std::int64_t>(kAlphabet.find(c));
  }
  return FromMicros(millis * 1'000);
}

}  // namespace everstep
