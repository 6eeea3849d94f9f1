#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/value.h"
#include "event/event.h"
#include "machine/state.h"

namespace everstep {

// An activity is one piece of work of a run: a step, an iteration of a loop, a compensation, or a
// scope that holds others. Its id is a path that is stable in the log (run/activity_path.h); its
// number is short-lived: the order in which this process met the activities of the run.
using ActivityNo = std::uint32_t;
inline constexpr ActivityNo kNoActivity = UINT32_MAX;

// A JSON text that is parsed when its value is first needed, and only then.
class LazyValue {
 public:
  void Set(std::string json) {
    json_ = std::move(json);
    value_ = {};
    parsed_ = false;
  }
  bool empty() const { return json_.empty(); }
  const std::string& json() const { return json_; }
  template <typename Codec, typename Self>
  static void Fields(Codec& codec, Self& self) {
    codec(self.json_);
  }

  // Null if there is no text.
  const Value& value() const;

 private:
  std::string json_;
  mutable Value value_;
  mutable bool parsed_ = false;
};

// How far an activity has come. Only events change it.
struct Activity {
  std::string id;
  EntityStatus status = EntityStatus::kAbsent;
  bool will_retry = false;  // failed, and another attempt follows
  bool held = false;        // failed for good, and an operator decides
  bool submitted = false;   // its call has returned, and its hook is still open
  std::uint32_t logical_attempt = 0;
  std::uint32_t engine_attempt = 0;
  std::vector<std::uint32_t> retries;  // by rule: how often it has decided
  EventSeq last_seq;                   // of its last event
  Timestamp started_at{};              // of its first attempt
  Timestamp attempt_at{};              // of this delivery
  Timestamp ended_at{};
  std::string inputs;  // as recorded, while it runs
  std::string secret_prefix;
  std::string idempotency_key;  // chosen by the program; empty: the engine's own
  LazyValue result;             // of a success
  std::string error_code;       // of a failure; of a skip: its reason code
  std::string error_message;

  template <typename Codec, typename Self>
  static void Fields(Codec& codec, Self& self) {
    codec(self.id, self.status, self.will_retry, self.held, self.submitted, self.logical_attempt,
          self.engine_attempt, self.retries, self.last_seq, self.started_at, self.attempt_at,
          self.ended_at, self.inputs, self.secret_prefix, self.idempotency_key, self.result,
          self.error_code, self.error_message);
  }

  bool running() const { return status == EntityStatus::kRunning; }
  bool failed() const { return status == EntityStatus::kFailed; }
};

}  // namespace everstep
