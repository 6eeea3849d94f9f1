#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "machine/machine.h"
#include "machine/run_fold.h"

namespace everstep {

// An event in the notation of tests: Fact(kStepFailed, "s1").Attempt(2).WillRetry().
class Fact {
 public:
  Fact(EventType type, std::string entity_id = {}) {
    event_.type = type;
    event_.entity_id = std::move(entity_id);
  }

  Fact& Attempt(std::uint32_t attempt) { return event_.logical_attempt = attempt, *this; }
  Fact& EngineAttempt(std::uint32_t attempt) { return event_.engine_attempt = attempt, *this; }
  Fact& WillRetry() { return event_.facts.will_retry = true, *this; }
  Fact& Retryable() { return event_.facts.retryable = true, *this; }
  Fact& Revisit() { return event_.facts.revisit = true, *this; }
  Fact& Late() { return event_.facts.late = true, *this; }
  Fact& Escalation() { return event_.facts.escalation = true, *this; }
  Fact& Token(std::string token) { return event_.facts.token = std::move(token), *this; }
  Fact& DueAt(Timestamp time) { return event_.facts.due_at = time, *this; }
  Fact& EmittedAt(Timestamp time) { return event_.emitted_at = time, *this; }
  Fact& PersistedAt(Timestamp time) { return event_.persisted_at = time, *this; }
  Fact& Parent(std::string id) { return event_.parent_id = std::move(id), *this; }
  Fact& Artifacts(std::string json) { return event_.facts.artifacts = std::move(json), *this; }
  Fact& Error(std::string code, std::string message) {
    event_.facts.error_code = std::move(code);
    event_.facts.error_message = std::move(message);
    return *this;
  }
  Event& event() { return event_; }

 private:
  Event event_;
};

// The default times of an event: emitted at second 1000 + seq, persisted a millisecond later.
inline Timestamp EmittedAt(std::uint64_t seq) {
  return Timestamp(std::chrono::seconds(1000 + seq));
}
inline Timestamp PersistedAt(std::uint64_t seq) {
  return EmittedAt(seq) + std::chrono::milliseconds(1);
}

// The test line of an expectation, for its failure message. (std::source_location does the same,
// but not in every compiler that parses the tests.)
struct Where {
  const char* file;
  int line;

  static Where Here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

// A run with a history, the next event, and the machine's verdict on it:
//   Given({{kRunStarted}, {kStepStarted, "s1"}}).When({kStepCompleted, "s1"}).Then(kSuccess)
class Scenario {
 public:
  explicit Scenario(std::vector<Fact> history, Where where = Where::Here()) {
    for (Fact& fact : history) {
      const std::optional<Rejection> refused = Append(fact.event());
      if (refused) {
        ADD_FAILURE_AT(where.file, where.line) << "given event refused: " << refused->message;
      }
    }
  }

  Scenario& When(Fact fact) {
    refused_ = Append(fact.event());
    entity_ = EntityOf(fact.event().type, fact.event().entity_id);
    return *this;
  }

  // Expects that the event was accepted and left the run, or the event's entity, in this status.
  Scenario& Then(RunStatus status, Where where = Where::Here()) {
    const ::testing::ScopedTrace trace(where.file, where.line, "Then");
    EXPECT_FALSE(refused_.has_value()) << refused_->message;
    EXPECT_EQ(Name(fold_.run().status), Name(status));
    return *this;
  }
  Scenario& Then(EntityStatus status, Where where = Where::Here()) {
    const ::testing::ScopedTrace trace(where.file, where.line, "Then");
    EXPECT_FALSE(refused_.has_value()) << refused_->message;
    EXPECT_EQ(Name(entity().status), Name(status));
    return *this;
  }
  // Expects that the event was refused with this code. Nothing has changed.
  Scenario& Then(ErrorCode code, Where where = Where::Here()) {
    const ::testing::ScopedTrace trace(where.file, where.line, "Then");
    EXPECT_EQ(refused_ ? Name(refused_->code) : "accepted", Name(code)) << message();
    return *this;
  }

  const RunState& run() const { return fold_.run(); }
  // The entity of the last event, or the one with `key`; absent if there is none.
  EntityState entity() const { return entity_ ? entity(*entity_) : EntityState{}; }
  EntityState entity(const EntityKey& key) const {
    const auto found = fold_.entities().find(key);
    return found == fold_.entities().end() ? EntityState{} : found->second;
  }
  std::string message() const { return refused_ ? refused_->message : ""; }

  // The event that the machine makes of an order in this state.
  Event Resolved(const EventWrite& write) const {
    const auto key = EntityOf(write.type, write.entity_id);
    return Resolve(fold_.run(), key ? entity(*key) : EntityState{}, write, "fresh-id");
  }

 private:
  std::optional<Rejection> Append(Event event) {
    const std::uint64_t seq = fold_.run().last_seq.value() + 1;
    event.seq = EventSeq(seq);
    if (event.emitted_at == Timestamp{}) event.emitted_at = EmittedAt(seq);
    if (event.persisted_at == Timestamp{}) event.persisted_at = PersistedAt(seq);
    const auto key = EntityOf(event.type, event.entity_id);
    std::optional<Rejection> refused =
        Judge(fold_.run(), key ? entity(*key) : EntityState{}, event);
    if (!refused) fold_.Apply(event);
    return refused;
  }

  RunFold fold_;
  std::optional<EntityKey> entity_;
  std::optional<Rejection> refused_;
};

inline Scenario Given(std::vector<Fact> history, Where where = Where::Here()) {
  return Scenario(std::move(history), where);
}

}  // namespace everstep
