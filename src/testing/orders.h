#pragma once

#include <string>
#include <utility>
#include <vector>

#include "event/dialect.h"

namespace everstep {

// Builds orders for tests: Write("run-1", EventType::kStepStarted, "s1").
inline EventWrite Write(const std::string& run_id, EventType type, std::string entity_id = "",
                        std::uint32_t logical_attempt = 0) {
  EventWrite write;
  write.type = type;
  write.run_id = RunId(run_id);
  write.entity_id = std::move(entity_id);
  write.logical_attempt = logical_attempt;
  return write;
}

inline AppendOrder Order(EventWrite write) {
  AppendOrder order{write.run_id, {}};
  order.events.push_back(std::move(write));
  return order;
}

inline AppendOrder Order(const std::string& run_id, EventType type, std::string entity_id = "",
                         std::uint32_t logical_attempt = 0) {
  return Order(Write(run_id, type, std::move(entity_id), logical_attempt));
}

inline RunScope DefaultScope() { return {"default", "default", "default", "plan", "1"}; }

}  // namespace everstep
