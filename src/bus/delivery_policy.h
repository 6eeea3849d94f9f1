#pragma once

#include <chrono>
#include <cstdint>

namespace everstep {

// What happens to later events of a run once one of its events is a dead letter.
enum class LaterEvents : std::uint8_t {
  kHold,  // become dead letters too, without being sent, and keep their order
  kPass,  // are sent as usual
};

struct DeliveryPolicy {
  std::uint32_t attempts_max = 12;  // after that many, an event becomes a dead letter
  std::chrono::milliseconds backoff_initial{500};     // doubles with each failure
  std::chrono::milliseconds backoff_max{5 * 60'000};  // cap; full jitter is applied
  LaterEvents later = LaterEvents::kHold;
  std::uint32_t batch_events_max = 100;
  std::uint64_t batch_bytes_max = 1 << 20;
  std::uint32_t in_flight_max = 4;  // batches
};

}  // namespace everstep
