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

// One time that an order was sent. Its events carry its mark as emitted_by, so that they can be
// told from those of every other time.
struct Attempt {
  enum class Told : std::uint8_t {
    kNothing,  // nobody heard the answer
    kPlaced,
    kRefused,
    kNotWritten,  // the store was full or had stopped
    kIndeterminate,
  };

  AppendOrder order;
  ReferenceLog::Answer expected;     // by the reference, when it was sent
  bool founded = true;               // what it was decided on is durable by now
  std::optional<ErrorCode> excused;  // the failure of its write, which may be its answer
  Told told = Told::kNothing;
  std::optional<Placed> placed;
};

// What callers sent and what they were told.
class AnswerBook {
 public:
  // Marks the order's events and notes it. Gives its number.
  std::size_t Send(AppendOrder order);
  Attempt& attempt(std::size_t number) { return attempts_[number]; }
  const std::vector<Attempt>& attempts() const { return attempts_; }
  static std::string MarkOf(std::size_t number);

  // Notes what an event's id and time are. False when something else was said before.
  bool Identify(const RunId& run_id, std::uint64_t incarnation, const Placed& placed);

 private:
  using EventPlace = std::tuple<RunId, std::uint64_t, EventSeq>;
  std::vector<Attempt> attempts_;
  std::map<EventPlace, std::pair<std::string, Timestamp>> identities_;
};

// Whether all events that an order was decided on are durable.
bool IsFounded(const ReferenceLog::Answer& decided, const RunId& run_id,
               const ReferenceLog& durable);

// Whether `answer` is what the attempt had to be told; notes it. Says what is wrong, or nothing.
std::string TakeAnswer(AnswerBook& book, std::size_t number, const Result<Placed>& answer);

}  // namespace everstep
