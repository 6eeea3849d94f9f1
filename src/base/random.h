#pragma once

#include <cstdint>

namespace everstep {

// Port for randomness.
class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t Next() = 0;
};

// The kernel's generator. Thread-safe. Lives as long as the process.
Random& SystemRandom();

// SplitMix64: the same seed gives the same numbers on every platform. Not thread-safe.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() override {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  // Uniform enough for tests and jitter: [0, bound).
  std::uint64_t Below(std::uint64_t bound) { return Next() % bound; }
  bool OneIn(std::uint64_t n) { return Below(n) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace everstep
