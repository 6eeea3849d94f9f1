#include "testing/random_orders.h"

#include <array>
#include <functional>
#include <utility>

#include "engine/append_authority.h"
#include "event/catalogue.h"

namespace everstep {
namespace {

using enum EventType;

constexpr std::uint64_t kRunsAtOnce = 5;
constexpr std::uint64_t kOrdersPerRun = 25;  // after that many, a new run replaces it
constexpr std::uint64_t kShardsUsed = 2;     // few, so that runs evict each other from memory
constexpr std::uint64_t kShards = AppendAuthority::kShards;

struct Share {
  std::uint64_t weight;
  std::array<EventType, 6> types;  // the last is repeated to fill the array
};

constexpr std::array kMix = {
    Share{12, {kRunStarted, kRunStarted, kRunStarted, kRunQueued, kRunApproved, kRunStarted}},
    Share{6, {kRunPaused, kRunResumed, kRunResumed, kRunResumed, kRunResumed, kRunResumed}},
    Share{3,
          {kRunCompleted, kRunCompleted, kRunFailed, kRunCancelled, kRunCancelled, kRunCompleted}},
    Share{40,
          {kStepScheduled, kStepStarted, kStepStarted, kStepFailed, kStepCompleted, kStepStarted}},
    Share{6, {kStepSkipped, kStepDelayed, kStepDelayed, kStepDelayed, kStepDelayed, kStepDelayed}},
    Share{16,
          {kHookCreated, kHookCreated, kHookCreated, kHookReceived, kHookReceived, kHookDisposed}},
    Share{8,
          {kWaitCreated, kWaitCreated, kWaitCompleted, kWaitCreated, kWaitCompleted, kWaitCreated}},
    Share{6,
          {kSignalAccepted, kSignalAccepted, kSignalRejected, kSignalAccepted, kSignalRejected,
           kSignalAccepted}},
    Share{9,
          {kErrorRecorded, kErrorRecorded, kErrorResolved, kErrorUnrecoverable, kErrorResolved,
           kErrorRecorded}},
    Share{
        5,
        {kToolStarted, kToolProcessed, kToolProcessed, kLoopStarted, kLoopFinished, kToolStarted}},
    Share{4,
          {kLoopIterationStarted, kLoopIterationFinished, kCaseStarted, kCaseEvaluated,
           kRetryStarted, kRetryProcessed}},
    Share{3,
          {kSinkStarted, kSinkProcessed, kNextEvaluated, kContextUpdated, kContextUpdated,
           kSinkProcessed}},
    Share{4,
          {kChildStarted, kChildStarted, kChildFinished, kChildFinished, kChildStarted,
           kChildFinished}},
};

// Pairs of types that make sense in one order about one entity.
constexpr std::array<std::array<EventType, 2>, 7> kPairs = {{
    {kStepStarted, kStepCompleted},
    {kStepFailed, kStepStarted},
    {kToolStarted, kToolProcessed},
    {kHookCreated, kHookReceived},
    {kHookCreated, kHookDisposed},
    {kWaitCreated, kWaitCompleted},
    {kErrorRecorded, kErrorResolved},
}};

// A run id that maps to one of the shards in use; sometimes a UUID.
RunId NumberedRun(std::uint64_t number) {
  for (std::uint64_t turn = 0;; ++turn) {
    std::string id = "run-" + std::to_string(number) + "." + std::to_string(turn);
    if (number % 4 == 3) {
      id = "00000000-0000-4000-8000-" + std::to_string(100'000'000'000 + number * 10'000 + turn);
    }
    if (std::hash<std::string>{}(id) % kShards < kShardsUsed) return RunId(id);
  }
}

}  // namespace

RunScope RandomOrderDefaults() { return {"default", "default", "default", "plan", "1"}; }

RunId RandomOrders::AnyRun(std::uint64_t moment) {
  const std::uint64_t oldest = moment / kOrdersPerRun;
  return NumberedRun(oldest + random_.Below(kRunsAtOnce));
}

AppendOrder RandomOrders::Next(std::uint64_t moment) {
  AppendOrder order{AnyRun(moment), {}};
  const auto add = [&](EventType type) {
    order.events.push_back(Write(order.run_id, type, moment));
  };
  if (random_.OneIn(6)) {
    const auto& [first, second] = kPairs[random_.Below(kPairs.size())];
    add(first);
    add(second);
    order.events[1].entity_id = order.events[0].entity_id;
    return order;
  }
  const std::uint64_t events = random_.OneIn(10) ? 2 + random_.Below(3) : 1;
  for (std::uint64_t i = 0; i < events; ++i) add(AnyType());
  return order;
}

EventWrite RandomOrders::Write(const RunId& run_id, EventType type, std::uint64_t moment) {
  EventWrite write;
  write.run_id = run_id;
  write.type = type;
  if (random_.OneIn(2)) write.logical_attempt = static_cast<std::uint32_t>(1 + random_.Below(2));
  if (random_.OneIn(8)) write.engine_attempt = static_cast<std::uint32_t>(1 + random_.Below(3));
  if (!random_.OneIn(3)) {
    write.event_id = "e" + std::to_string(moment) + "." + std::to_string(random_.Below(1000));
  }
  if (random_.OneIn(3)) write.payload = R"({"n":)" + std::to_string(random_.Below(3)) + "}";
  if (random_.OneIn(6)) write.parent_id = Pick("s", 3);
  FillScope(write);
  FillFacts(write);
  return write;
}

EventType RandomOrders::AnyType() {
  std::uint64_t total = 0;
  for (const Share& share : kMix) total += share.weight;
  std::uint64_t draw = random_.Below(total);
  for (const Share& share : kMix) {
    if (draw < share.weight) return share.types[random_.Below(share.types.size())];
    draw -= share.weight;
  }
  return kRunStarted;
}

std::string RandomOrders::Pick(const char* prefix, std::uint64_t count) {
  return prefix + std::to_string(1 + random_.Below(count));
}

void RandomOrders::FillFacts(EventWrite& write) {
  switch (SpecOf(write.type).entity) {
    case EntityKind::kRun:
      write.facts.late = write.type == kRunCancelled && random_.OneIn(3);
      return;
    case EntityKind::kStep:
      write.entity_id = Pick("s", 3);
      write.starts_run = random_.OneIn(4);
      write.revisit = random_.OneIn(6);
      write.facts.late = random_.OneIn(6);
      write.facts.will_retry = write.type == kStepFailed && !random_.OneIn(3);
      break;
    case EntityKind::kHook:
      write.entity_id = Pick("h", 4);
      if (write.type == kHookCreated) write.facts.token = Pick("token-", 3);
      break;
    case EntityKind::kSignal:
      write.entity_id = Pick("signal-", 3);
      write.facts.escalation = random_.OneIn(4);
      break;
    case EntityKind::kError:
      write.entity_id = Pick("code-", 2);
      if (write.type == kErrorResolved && random_.OneIn(4)) write.entity_id = "*";
      break;
    default:
      write.entity_id = Pick("x", 3);
      break;
  }
  if (write.type == kWaitCreated || write.type == kStepDelayed) {
    write.facts.due_at =
        *ParseTimestamp("2026-03-01T00:00:00.000Z") + std::chrono::seconds(random_.Below(100));
  }
  // For a repeating entity the writer may name the instance.
  if (SpecOf(write.type).repeats && write.entity_id != "*" && random_.OneIn(4)) {
    write.instance_id = write.entity_id + ":" + std::to_string(random_.Below(3));
  }
}

void RandomOrders::FillScope(EventWrite& write) {
  // Half of the runs have their own tenant; a few orders name the wrong one.
  const bool other = std::hash<std::string>{}(write.run_id.value()) / kShards % 2 == 0;
  if (other != random_.OneIn(60)) write.scope.tenant_id = "other";
  if (random_.OneIn(4)) write.key_version = KeyVersion::kV2;
}

std::string Describe(const AppendOrder& order) {
  std::string text = order.run_id.value() + ":";
  for (const EventWrite& write : order.events) {
    text += " " + std::string(SpecOf(write.type).name);
    if (!write.entity_id.empty()) text += " " + write.entity_id;
    if (!write.facts.token.empty()) text += " token " + write.facts.token;
    if (write.logical_attempt != 0) text += " attempt " + std::to_string(write.logical_attempt);
    if (!write.event_id.empty()) text += " id " + write.event_id;
    text += ";";
  }
  return text;
}

}  // namespace everstep
