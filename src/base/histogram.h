#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace everstep {

// A copy of a Histogram's counters.
struct HistogramCounts {
  std::vector<std::uint64_t> bounds;  // inclusive, ascending
  std::vector<std::uint64_t> counts;  // per bucket, not cumulative; the last is above all bounds
  std::uint64_t sum = 0;
  std::uint64_t count = 0;
};

// Counts integers per bucket, for metrics. Thread-safe.
template <std::size_t kBounds>
class Histogram {
 public:
  explicit constexpr Histogram(const std::array<std::uint64_t, kBounds>& bounds)
      : bounds_(bounds) {}

  void Add(std::uint64_t value) {
    std::size_t at = 0;
    while (at < kBounds && value > bounds_[at]) ++at;
    counts_[at].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }
  // Not atomic: a value added concurrently may be included in `counts` but not in `sum`.
  HistogramCounts Read() const {
    HistogramCounts read;
    read.bounds.assign(bounds_.begin(), bounds_.end());
    for (const auto& count : counts_) {
      read.counts.push_back(count.load(std::memory_order_relaxed));
      read.count += read.counts.back();
    }
    read.sum = sum_.load(std::memory_order_relaxed);
    return read;
  }

 private:
  const std::array<std::uint64_t, kBounds> bounds_;
  std::array<std::atomic<std::uint64_t>, kBounds + 1> counts_{};
  std::atomic<std::uint64_t> sum_{0};
};

}  // namespace everstep
