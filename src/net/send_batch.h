#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace everstep {

// Sends to many sockets in one system call, by io_uring. One call for each takes longer, and a
// receiver that the first call wakes may take the processor away before the second. Used by one
// thread.
class SendBatch {
 public:
  static constexpr std::size_t kMost = 128;

  // Not usable where the system does not allow io_uring, and from then on if it refuses to send.
  SendBatch();
  ~SendBatch();
  SendBatch(const SendBatch&) = delete;
  SendBatch& operator=(const SendBatch&) = delete;

  bool usable() const { return ring_ != nullptr; }
  std::size_t size() const { return size_; }
  // At most kMost may be added. The bytes must stay valid until Send has returned.
  void Add(int fd, std::string_view bytes);
  // Never blocks. Returns how many bytes of each were sent, in the order in which they were added.
  // Zero means that there is no room, that the connection is broken, or that the batch is not
  // usable; sending by itself shows which.
  std::span<const std::size_t> Send();

 private:
  class Ring;

  std::unique_ptr<Ring> ring_;
  std::size_t size_ = 0;
  std::array<std::size_t, kMost> sent_{};
};

}  // namespace everstep
