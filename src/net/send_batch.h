#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace everstep {

// Sends to many sockets in one call of the system, by io_uring: a call for each takes longer, and
// whoever is woken by the first may take the processor away before the second. One thread.
class SendBatch {
 public:
  static constexpr std::size_t kMost = 128;

  // Of no use where the system allows no rings.
  SendBatch();
  ~SendBatch();
  SendBatch(const SendBatch&) = delete;
  SendBatch& operator=(const SendBatch&) = delete;

  bool usable() const { return ring_ != nullptr; }
  std::size_t size() const { return size_; }
  // At most kMost. The bytes stay where they are until Send has returned.
  void Add(int fd, std::string_view bytes);
  // Never blocks. How much of each was sent, in the order in which they were added. None of one may
  // mean that there is no room, or that the connection is broken: sending it by itself tells.
  std::span<const std::size_t> Send();

 private:
  class Ring;

  std::unique_ptr<Ring> ring_;
  std::size_t size_ = 0;
  std::array<std::size_t, kMost> sent_{};
};

}  // namespace everstep
