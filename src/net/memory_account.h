#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace everstep {

// What a request takes of the memory of its server.
enum class MemoryClaim : std::uint8_t {
  kAnswer,  // it has no body
  kBody,
  kUnprovenBody,  // of a client that has not shown who it is
};

// Bytes that are held for clients. Each number is a part of the one before.
struct HeldBytes {
  std::size_t all = 0;
  std::size_t bodies = 0;
  std::size_t unproven = 0;

  void AddBody(std::size_t bytes, MemoryClaim claim) {
    all += bytes;
    bodies += bytes;
    if (claim == MemoryClaim::kUnprovenBody) unproven += bytes;
  }
  bool operator==(const HeldBytes&) const = default;
};

// What all connections of a server hold, and whether there is room for more. Bodies leave a quarter
// to those who send none, so that no body keeps others from asking how the server is; those of
// clients that are not known have a quarter, so that they keep nobody else from sending.
// Thread-safe.
class MemoryAccount {
 public:
  explicit MemoryAccount(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void Replace(const HeldBytes& former, const HeldBytes& now) {
    Add(all_, now.all - former.all);
    Add(bodies_, now.bodies - former.bodies);
    Add(unproven_, now.unproven - former.unproven);
  }
  bool IsFull(MemoryClaim claim) const {
    if (Get(all_) > bytes_max_) return true;
    if (claim == MemoryClaim::kAnswer) return false;
    if (Get(bodies_) > bytes_max_ / 4 * 3) return true;
    return claim == MemoryClaim::kUnprovenBody && Get(unproven_) > bytes_max_ / 4;
  }
  std::size_t bytes() const { return Get(all_); }

 private:
  using Counter = std::atomic<std::size_t>;
  // Unsigned numbers wrap, so that less is added as well as more.
  static void Add(Counter& counter, std::size_t change) {
    if (change != 0) counter.fetch_add(change, std::memory_order_relaxed);
  }
  static std::size_t Get(const Counter& counter) { return counter.load(std::memory_order_relaxed); }

  const std::size_t bytes_max_;
  Counter all_ = 0;
  Counter bodies_ = 0;
  Counter unproven_ = 0;
};

}  // namespace everstep
