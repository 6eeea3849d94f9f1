#include "testing/answer_book.h"

#include <utility>

namespace everstep {
namespace {

using Answer = Attempt::Answer;

std::string TakeError(Attempt& attempt, const Error& error) {
  if (error.code == attempt.excused) {
    const bool unknown = error.code == ErrorCode::kIndeterminate;
    attempt.answer = unknown ? Answer::kIndeterminate : Answer::kNotWritten;
    return {};
  }
  const bool rejection = KindOf(error.code) == ErrorKind::kRejection;
  attempt.answer = rejection ? Answer::kRefused : Answer::kNotWritten;
  if (attempt.expected.refused != error.code) {
    return "was answered " + ToString(error) + ", where the reference " +
           (attempt.expected.refused ? "says " + std::string(Name(*attempt.expected.refused))
                                     : "accepts it");
  }
  if (rejection && !attempt.founded) {
    return "was refused (" + std::string(Name(error.code)) + ") for events that are not durable";
  }
  return {};
}

std::string TakePlace(AnswerBook& book, Attempt& attempt, const Placed& placed) {
  const ReferenceLog::Answer& expected = attempt.expected;
  attempt.answer = Answer::kPlaced;
  attempt.placed = placed;
  if (expected.refused) {
    return "was accepted, but the reference says " + std::string(Name(*expected.refused));
  }
  if (attempt.excused && expected.new_events > 0) return "was accepted although its write failed";
  if (placed.seq != expected.seq) {
    return "was placed at " + std::to_string(placed.seq.value()) + ", not at " +
           std::to_string(expected.seq.value());
  }
  const bool duplicate = expected.new_events == 0;
  if (placed.duplicate != duplicate) {
    return duplicate ? "was not recognised as a duplicate" : "was taken for a duplicate";
  }
  if (placed.payload_mismatch != expected.payload_mismatch)
    return "has the wrong payload_mismatch flag";
  if (!book.Identify(attempt.order.run_id, expected.incarnation, placed)) {
    return "was answered with another event id or time than the event has";
  }
  return {};
}

}  // namespace

std::string AnswerBook::MarkOf(std::size_t number) { return "sender:" + std::to_string(number); }

std::size_t AnswerBook::Send(AppendOrder order) {
  const std::size_t number = attempts_.size();
  for (EventWrite& write : order.events) write.emitted_by = MarkOf(number);
  Attempt attempt;
  attempt.order = std::move(order);
  attempts_.push_back(std::move(attempt));
  return number;
}

bool AnswerBook::Identify(const RunId& run_id, std::uint64_t incarnation, const Placed& placed) {
  const std::pair identity(placed.event_id, placed.persisted_at);
  const auto [known, is_new] =
      identities_.try_emplace(EventPlace(run_id, incarnation, placed.seq), identity);
  return is_new || known->second == identity;
}

bool IsFounded(const ReferenceLog::Answer& decided, const RunId& run_id,
               const ReferenceLog& durable) {
  if (decided.incarnation == 0) return true;
  const ReferenceLog::Run* run = durable.Find(run_id);
  return run != nullptr && run->incarnation == decided.incarnation &&
         run->events.size() >= decided.events_before;
}

std::string TakeAnswer(AnswerBook& book, std::size_t number, const Result<Placed>& answer) {
  Attempt& attempt = book.attempt(number);
  if (!answer) return TakeError(attempt, answer.error());
  return TakePlace(book, attempt, *answer);
}

}  // namespace everstep
