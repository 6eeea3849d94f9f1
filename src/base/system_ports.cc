#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/assert.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/pause.h"
#include "base/random.h"
#include "base/watched_clock.h"

namespace everstep {
namespace {

class RealClock final : public Clock {
 public:
  Timestamp Now() override {
    return std::chrono::time_point_cast<std::chrono::microseconds>(
        std::chrono::system_clock::now());
  }
};

class RealBootClock final : public BootClock {
 public:
  std::chrono::microseconds SinceBoot() override {
    timespec time{};
    EVERSTEP_ASSERT(::clock_gettime(CLOCK_BOOTTIME, &time) == 0);
    return std::chrono::seconds(time.tv_sec) +
           std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::nanoseconds(time.tv_nsec));
  }
};

class KernelRandom final : public Random {
 public:
  std::uint64_t Next() override {
    // Reads up to 256 bytes are never short once the pool is initialized. A buffer per thread saves
    // system calls.
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

BootClock& SystemBootClock() {
  static RealBootClock clock;
  return clock;
}

WatchedClock& WatchedSystemClock() {
  static WatchedClock clock(SystemClock(), SystemBootClock());
  return clock;
}

std::chrono::steady_clock::time_point SteadyNow() { return std::chrono::steady_clock::now(); }

std::optional<std::string> EnvironmentVariable(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

std::vector<std::string> EnvironmentNames(std::string_view prefix) {
  std::vector<std::string> names;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view variable = *at;
    if (variable.starts_with(prefix)) names.emplace_back(variable.substr(0, variable.find('=')));
  }
  std::ranges::sort(names);
  return names;
}

Random& SystemRandom() {
  static KernelRandom random;
  return random;
}

std::uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

void PauseForOthers(std::chrono::milliseconds pause) { std::this_thread::sleep_for(pause); }

}  // namespace everstep
