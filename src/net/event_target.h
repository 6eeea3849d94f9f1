#pragma once

#include <cstdint>

namespace everstep {

// What a file descriptor in a loop's epoll set stands for.
class EventTarget {
 public:
  virtual void OnEvents(std::uint32_t events) = 0;

 protected:
  ~EventTarget() = default;
};

}  // namespace everstep
