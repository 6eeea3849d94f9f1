#pragma once

#include <cstdint>

namespace everstep {

// Handles the events of a file descriptor in a loop's epoll set.
class EventTarget {
 public:
  virtual void OnEvents(std::uint32_t events) = 0;

 protected:
  ~EventTarget() = default;
};

}  // namespace everstep
