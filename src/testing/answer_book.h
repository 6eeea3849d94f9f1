#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/append_authority.h"
#include "testing/reference_log.h"

namespace everstep {

// One send of an order. Its events carry the attempt's mark as emitted_by, which tells them apart
// from those of every other attempt.
struct Attempt {
  enum class Answer : std::uint8_t {
    kNothing,  // no answer was received
    kPlaced,
    kRefused,
    kNotWritten,  // the store was full or stopped
    kIndeterminate,
  };

  AppendOrder order;
  ReferenceLog::Answer expected;     // by the reference log, at the time of sending
  bool founded = true;               // everything the decision was based on is durable
  std::optional<ErrorCode> excused;  // the failure of its write, which is also a valid answer
  Answer answer = Answer::kNothing;
  std::optional<Placed> placed;
};

// What callers sent and which answers they received.
class AnswerBook {
 public:
  // Marks the order's events, records the order and returns its number.
  std::size_t Send(AppendOrder order);
  Attempt& attempt(std::size_t number) { return attempts_[number]; }
  const std::vector<Attempt>& attempts() const { return attempts_; }
  static std::string MarkOf(std::size_t number);

  // Records the id and time of an event. Returns false if they differ from what was recorded
  // before.
  bool Identify(const RunId& run_id, std::uint64_t incarnation, const Placed& placed);

 private:
  using EventPlace = std::tuple<RunId, std::uint64_t, EventSeq>;
  std::vector<Attempt> attempts_;
  std::map<EventPlace, std::pair<std::string, Timestamp>> identities_;
};

// Returns whether all events on which the decision was based are durable.
bool IsFounded(const ReferenceLog::Answer& decided, const RunId& run_id,
               const ReferenceLog& durable);

// Records `answer` and checks it against what was expected. Returns what is wrong, or nothing.
std::string TakeAnswer(AnswerBook& book, std::size_t number, const Result<Placed>& answer);

}  // namespace everstep
