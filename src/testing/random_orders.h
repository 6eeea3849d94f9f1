#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"
#include "event/dialect.h"

namespace everstep {

// Orders as a busy and unreliable world sends them: over a few runs at a time, every kind of event,
// sensible or not, with attempts and ids given or left open, several events at once now and then.
// Entities, tokens and ids come from small pools, so that orders meet. An order depends on the
// numbers drawn and on `moment` alone.
class RandomOrders {
 public:
  explicit RandomOrders(SeededRandom& random) : random_(random) {}

  // `moment` is the number of the order: as it grows, new runs take the place of old ones.
  AppendOrder Next(std::uint64_t moment);

  // Of the runs that orders of this moment go to, one.
  RunId AnyRun(std::uint64_t moment);

 private:
  EventWrite Write(const RunId& run_id, EventType type, std::uint64_t moment);
  EventType AnyType();
  std::string Pick(const char* prefix, std::uint64_t count);
  void FillFacts(EventWrite& write);
  void FillScope(EventWrite& write);

  SeededRandom& random_;
};

// The scope that fills what orders leave open.
RunScope RandomOrderDefaults();

// "RunStarted, StepStarted s1 (attempt 2)": for messages.
std::string Describe(const AppendOrder& order);

}  // namespace everstep
