#include <sys/random.h>

#include <array>

#include "base/assert.h"
#include "base/clock.h"
#include "base/random.h"

namespace everstep {
namespace {

class RealClock final : public Clock {
 public:
  Timestamp Now() override {
    return std::chrono::time_point_cast<std::chrono::microseconds>(
        std::chrono::system_clock::now());
  }
};

class KernelRandom final : public Random {
 public:
  std::uint64_t Next() override {
    // Small reads are never short once the kernel's pool is ready; a buffer per thread saves calls.
    thread_local std::array<std::uint64_t, 32> pool;
    thread_local std::size_t left = 0;
    if (left == 0) {
      EVERSTEP_ASSERT(::getrandom(pool.data(), sizeof(pool), 0) == sizeof(pool));
      left = pool.size();
    }
    return pool[--left];
  }
};

}  // namespace

Clock& SystemClock() {
  static RealClock clock;
  return clock;
}

Random& SystemRandom() {
  static KernelRandom random;
  return random;
}

}  // namespace everstep
