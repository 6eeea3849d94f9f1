#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "serve/router.h"

namespace everstep {

// Counts the responses of each operation by status class. Thread-safe and lock-free.
class RequestCounts {
 public:
  RequestCounts() : rows_(Routes().size()) {}

  void Add(const Route& route, int status) {
    const auto index = static_cast<std::size_t>(&route - Routes().data());
    const std::size_t hundreds = status < 100 || status >= 600 ? 5 : std::size_t(status) / 100;
    rows_[index][hundreds].fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t Get(const Route& route, int hundreds) const {
    const auto index = static_cast<std::size_t>(&route - Routes().data());
    return rows_[index][static_cast<std::size_t>(hundreds)].load(std::memory_order_relaxed);
  }

 private:
  using Row = std::array<std::atomic<std::uint64_t>, 6>;
  std::vector<Row> rows_;
};

}  // namespace everstep
