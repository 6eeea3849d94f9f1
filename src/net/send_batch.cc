#include "net/send_batch.h"

#include <liburing.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/assert.h"

namespace everstep {

class SendBatch::Ring {
 public:
  // Returns null if the system does not allow it.
  static std::unique_ptr<Ring> Open() {
    auto ring = std::make_unique<Ring>();
    if (io_uring_queue_init(kMost, &ring->ring_, 0) < 0) return nullptr;
    ring->open_ = true;
    return ring;
  }
  Ring() = default;
  ~Ring() {
    if (open_) io_uring_queue_exit(&ring_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  void Put(int fd, std::string_view bytes, std::size_t number) {
    io_uring_sqe* const order = io_uring_get_sqe(&ring_);
    EVERSTEP_ASSERT(order != nullptr);
    io_uring_prep_send(order, fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    io_uring_sqe_set_data64(order, number);
  }

  // Submits everything that was put, and waits for what the kernel accepts, because it reads the
  // bytes. False: the kernel refused some; the ring must not be used again.
  bool Run(std::span<std::size_t> sent) {
    std::size_t accepted = 0;
    while (accepted < sent.size()) {
      const int result = io_uring_submit(&ring_);
      if (result == -EINTR) continue;
      if (result <= 0) break;
      accepted += static_cast<std::size_t>(result);
    }
    for (std::size_t completed = 0; completed < accepted;) {
      io_uring_cqe* answer = nullptr;
      const int result = io_uring_wait_cqe(&ring_, &answer);
      if (result == -EINTR) continue;
      EVERSTEP_ASSERT(result == 0 && answer->user_data < sent.size());
      sent[answer->user_data] = static_cast<std::size_t>(std::max(answer->res, 0));
      io_uring_cqe_seen(&ring_, answer);
      ++completed;
    }
    return accepted == sent.size();
  }

 private:
  io_uring ring_{};
  bool open_ = false;
};

SendBatch::SendBatch() : ring_(Ring::Open()) {}
SendBatch::~SendBatch() = default;

void SendBatch::Add(int fd, std::string_view bytes) {
  EVERSTEP_ASSERT(size_ < kMost);
  sent_[size_] = 0;
  if (ring_ != nullptr) ring_->Put(fd, bytes, size_);
  ++size_;
}

std::span<const std::size_t> SendBatch::Send() {
  const std::span<std::size_t> sent(sent_.data(), size_);
  if (ring_ != nullptr && !ring_->Run(sent)) ring_.reset();
  size_ = 0;
  return sent;
}

}  // namespace everstep
