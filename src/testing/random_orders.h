#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"
#include "event/dialect.h"

namespace everstep {

// Orders as sent by a busy and unreliable world: over a few runs at a time, every type of event,
// valid or not, with attempts and ids given or omitted, sometimes several events at once. Entities,
// tokens and ids come from small pools, so that orders interact. An order depends only on the
// numbers drawn and on `moment`.
class RandomOrders {
 public:
  explicit RandomOrders(SeededRandom& random) : random_(random) {}

  // `moment` is the number of the order; as it grows, new runs replace old ones.
  AppendOrder Next(std::uint64_t moment);

  // One of the runs that orders of this moment go to.
  RunId AnyRun(std::uint64_t moment);

 private:
  EventWrite Write(const RunId& run_id, EventType type, std::uint64_t moment);
  EventType AnyType();
  std::string Pick(const char* prefix, std::uint64_t count);
  void FillFacts(EventWrite& write);
  void FillScope(EventWrite& write);

  SeededRandom& random_;
};

// The scope that completes what orders omit.
RunScope RandomOrderDefaults();

// "RunStarted, StepStarted s1 (attempt 2)", for messages.
std::string Describe(const AppendOrder& order);

}  // namespace everstep
