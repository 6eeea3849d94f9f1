#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "event/event.h"
#include "flow/plan.h"
#include "machine/state.h"

namespace everstep {

// What runs in a run of a plan: a step, one item of a loop, or what undoes a step.
struct UnitKey {
  enum class Role : std::uint8_t { kStep, kItem, kUndo };
  StepIndex step = kNoStep;
  Role role = Role::kStep;
  std::uint32_t item = 0;  // kItem, and kUndo of an item

  auto operator<=>(const UnitKey&) const = default;
};

// "fetch", "fetch:3", "fetch:undo", "fetch:3:undo": the id of the unit's step in the log.
std::string UnitId(const Plan& plan, const UnitKey& key);
// step == kNoStep: the plan has no such unit.
UnitKey UnitNamed(const Plan& plan, std::string_view unit_id);

// Waits, hooks and children are named for their purpose, unit and attempt: "retry:fetch:3:2".
struct Purpose {
  std::string_view what;  // wait, retry, timeout, hook, child
  std::string_view unit_id;
  std::uint32_t attempt = 0;
};
std::string PurposeId(std::string_view what, std::string_view unit_id, std::uint32_t attempt);
Purpose PurposeOf(std::string_view id);  // an empty `what`: not of that form

// How far a unit has come. Changes only by events.
struct Unit {
  EntityStatus status = EntityStatus::kAbsent;
  bool will_retry = false;  // failed; another attempt follows
  bool held = false;        // failed for good, and an operator decides
  bool settled = false;     // its dependants have been told
  std::uint32_t logical_attempt = 0;
  std::uint32_t engine_attempt = 0;
  EventSeq last_seq;       // of its last event
  Timestamp started_at{};  // first start
  Timestamp attempt_at{};  // start of this delivery
  Timestamp ended_at{};
  std::string inputs;  // as recorded, while it runs
  std::string secret_prefix;
  std::string idempotency_key;  // the plan's own; empty: the engine's
  std::string result;           // JSON, of a success
  std::string error_code;       // of a failure; of a skip: its code
  std::string error_message;
};

}  // namespace everstep
