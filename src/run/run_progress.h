#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/sha256.h"
#include "base/value.h"
#include "event/event.h"
#include "everstep/result.h"
#include "machine/state.h"

namespace everstep {

// Identifies a program: the format tells who can read it, the digest which document it is.
struct ProgramRef {
  std::string format;  // "plan"
  std::string sha256;  // of the document, hexadecimal

  template <typename Codec, typename Self>
  static void Fields(Codec& codec, Self& self) {
    codec(self.format, self.sha256);
  }
  bool operator==(const ProgramRef&) const = default;
};
inline constexpr std::string_view kPlanFormat = "plan";

// Why and how a run was asked for: the content of RunQueued.
struct RunOrigin {
  RunScope scope;
  std::string inputs;  // JSON object
  std::string uri;     // of the program
  std::string request_id;
  std::string triggered_by;
  std::string trigger_source;
  std::string traceparent;
  std::string tracestate;
  std::int32_t priority = 0;
  std::string concurrency_key;
  std::uint64_t queue_position = 0;
  Timestamp queued_at{};  // its place among those that wait; unset: it did not have to
  Timestamp start_at{};
  RunId parent;
  std::string parent_step;
  RunId original;                               // of RETRY_RUN
  std::map<std::string, std::string> children;  // program reference -> sha256

  template <typename Codec, typename Self>
  static void Fields(Codec& codec, Self& self) {
    codec(self.inputs, self.uri, self.request_id, self.triggered_by, self.trigger_source,
          self.traceparent, self.tracestate, self.priority, self.concurrency_key, self.queued_at,
          self.start_at, self.parent, self.parent_step, self.original, self.children);
  }
};

// What two orders with the same id must agree on.
Sha256Digest SignalBody(std::string_view type, const Value& payload);

// How far a run has come as a whole: a fold over the run's log that knows nothing of the program
// that is executed. Changes only in Apply, one event at a time.
struct RunProgress {
  // kFailing, kCancelling: work stops, then compensation runs, then the run ends.
  enum class Ending : std::uint8_t { kNone, kFailing, kCancelling };

  // An order that was decided.
  struct Decided {
    Sha256Digest body{};  // of type and payload
    bool accepted = false;
    EventSeq seq;
    std::string decision;
    std::string code;
    std::string reason;

    template <typename Codec, typename Self>
    static void Fields(Codec& codec, Self& self) {
      codec(self.body, self.accepted, self.seq, self.decision, self.code, self.reason);
    }
  };

  // An accepted order about one activity, while its event is folded.
  struct Order {
    std::string type;
    std::string activity_id;
  };

  // The order that the event records, if it is one about an activity that may be tried again.
  Order Apply(const Event& event);

  // A failure that is under way goes on as one; a cancellation only hastens it.
  void BeginEnding(Ending how, EventSeq seq, std::string code, std::string message);

  // What was decided of an order with this id; null: nothing. kSignalDuplicate: of another order.
  Result<const Decided*> FindSignal(const std::string& signal_id, std::string_view type,
                                    const Value& payload) const;

  bool is_ending() const { return ending != Ending::kNone; }

  template <typename Codec, typename Self>
  static void Fields(Codec& codec, Self& self) {
    codec(self.program, self.status, self.origin, self.inputs, self.last_seq, self.status_seq,
          self.started_seq, self.created_at, self.started_at, self.completed_at, self.paused_at,
          self.result, self.error_code, self.error_message, self.pause_reason, self.signals,
          self.overrides, self.targets, self.ending, self.ending_seq, self.ending_code,
          self.ending_message, self.ending_step, self.ending_signal, self.undo_failed);
  }

  ProgramRef program;
  RunStatus status = RunStatus::kAbsent;
  RunOrigin origin;
  Value inputs;  // with what UPDATE_PARAMS changed
  EventSeq last_seq;
  EventSeq status_seq;   // of the event that set the status
  EventSeq started_seq;  // of RunStarted
  Timestamp created_at{};
  Timestamp started_at{};
  Timestamp completed_at{};
  Timestamp paused_at{};
  std::string result;  // JSON
  std::string error_code;
  std::string error_message;
  std::string pause_reason;

  std::map<std::string, Decided, std::less<>> signals;  // by signal id
  std::map<std::string, Value, std::less<>> overrides;  // by activity id, for the next attempt
  std::map<std::string, Value, std::less<>> targets;    // by activity id, for all later attempts

  Ending ending = Ending::kNone;
  EventSeq ending_seq;
  std::string ending_code;
  std::string ending_message;
  std::string ending_step;
  std::string ending_signal;
  std::vector<std::string> undo_failed;  // compensations that failed

 private:
  void ApplyRunEvent(const Event& event);
  void ApplyQueued(const Event& event);
  Order ApplySignal(const Event& event);
  void ApplyError(const Event& event);
};

// The program that RunQueued or ChildStarted records; without a format if it records none.
ProgramRef ProgramOf(const Event& event);
// Writes the members that ProgramOf reads.
void WriteProgram(JsonWriter& json, const ProgramRef& program);

}  // namespace everstep
