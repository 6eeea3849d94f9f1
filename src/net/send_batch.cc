#include "net/send_batch.h"

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "base/assert.h"
#include "base/unique_fd.h"

namespace everstep {
namespace {

// Memory that is shared with the kernel.
class Mapping {
 public:
  Mapping(int fd, std::size_t bytes, std::uint64_t offset)
      : bytes_(bytes),
        start_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
                      static_cast<off_t>(offset))) {}
  ~Mapping() {
    if (valid()) ::munmap(start_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  bool valid() const { return start_ != MAP_FAILED; }
  template <typename T>
  T* At(std::uint32_t offset) const {
    return reinterpret_cast<T*>(static_cast<char*>(start_) + offset);
  }

 private:
  std::size_t bytes_;
  void* start_;
};

std::uint32_t Load(std::uint32_t& shared) {
  return std::atomic_ref(shared).load(std::memory_order_acquire);
}
void Store(std::uint32_t& shared, std::uint32_t value) {
  std::atomic_ref(shared).store(value, std::memory_order_release);
}

}  // namespace

// A queue of submissions to the kernel, and one of its completions.
class SendBatch::Ring {
 public:
  // Returns null if the system does not allow it.
  static std::unique_ptr<Ring> Open() {
    io_uring_params params{};
    UniqueFd fd(static_cast<int>(::syscall(__NR_io_uring_setup, kMost, &params)));
    if (!fd || (params.features & IORING_FEAT_SINGLE_MMAP) == 0) return nullptr;
    auto ring = std::unique_ptr<Ring>(new Ring(std::move(fd), params));
    return ring->queues_.valid() && ring->orders_.valid() ? std::move(ring) : nullptr;
  }

  void Put(int fd, std::string_view bytes, std::size_t number) {
    const std::uint32_t slot = *order_tail_ & order_mask_;
    io_uring_sqe& order = orders_.At<io_uring_sqe>(0)[slot];
    order = {};
    order.opcode = IORING_OP_SEND;
    order.fd = fd;
    order.addr = reinterpret_cast<std::uintptr_t>(bytes.data());
    order.len = static_cast<std::uint32_t>(bytes.size());
    order.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    order.user_data = number;
    slots_[slot] = slot;
    Store(*order_tail_, *order_tail_ + 1);
  }

  // Submits everything that was put. On return each is completed or withdrawn. Waits for what the
  // kernel has accepted, because it reads the bytes.
  void Run(std::uint32_t count, std::span<std::size_t> sent) {
    std::uint32_t accepted = 0;
    for (std::uint32_t answered = 0; answered < count;) {
      const long result = ::syscall(__NR_io_uring_enter, fd_.get(), count - accepted,
                                    accepted - answered, IORING_ENTER_GETEVENTS, nullptr, 0);
      const bool refused = result < 0 && errno != EINTR;
      if (result > 0) accepted += static_cast<std::uint32_t>(result);
      answered += TakeAnswers(sent);
      if (!refused) continue;
      count = accepted;
      Store(*order_tail_, Load(*order_head_));
    }
  }

 private:
  Ring(UniqueFd fd, const io_uring_params& params)
      : fd_(std::move(fd)),
        queues_(fd_.get(),
                std::max(params.sq_off.array + params.sq_entries * sizeof(std::uint32_t),
                         params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe)),
                IORING_OFF_SQ_RING),
        orders_(fd_.get(), params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES) {
    if (!queues_.valid()) return;
    order_head_ = queues_.At<std::uint32_t>(params.sq_off.head);
    order_tail_ = queues_.At<std::uint32_t>(params.sq_off.tail);
    order_mask_ = *queues_.At<std::uint32_t>(params.sq_off.ring_mask);
    slots_ = queues_.At<std::uint32_t>(params.sq_off.array);
    answer_head_ = queues_.At<std::uint32_t>(params.cq_off.head);
    answer_tail_ = queues_.At<std::uint32_t>(params.cq_off.tail);
    answer_mask_ = *queues_.At<std::uint32_t>(params.cq_off.ring_mask);
    answers_ = queues_.At<io_uring_cqe>(params.cq_off.cqes);
  }

  std::uint32_t TakeAnswers(std::span<std::size_t> sent) {
    const std::uint32_t from = *answer_head_;
    const std::uint32_t to = Load(*answer_tail_);
    for (std::uint32_t i = from; i != to; ++i) {
      const io_uring_cqe& answer = answers_[i & answer_mask_];
      sent[answer.user_data] = static_cast<std::size_t>(std::max(answer.res, 0));
    }
    Store(*answer_head_, to);
    return to - from;
  }

  const UniqueFd fd_;
  const Mapping queues_;
  const Mapping orders_;
  std::uint32_t* order_head_ = nullptr;
  std::uint32_t* order_tail_ = nullptr;
  std::uint32_t order_mask_ = 0;
  std::uint32_t* slots_ = nullptr;
  std::uint32_t* answer_head_ = nullptr;
  std::uint32_t* answer_tail_ = nullptr;
  std::uint32_t answer_mask_ = 0;
  io_uring_cqe* answers_ = nullptr;
};

SendBatch::SendBatch() : ring_(Ring::Open()) {}
SendBatch::~SendBatch() = default;

void SendBatch::Add(int fd, std::string_view bytes) {
  EVERSTEP_ASSERT(size_ < kMost);
  sent_[size_] = 0;
  ring_->Put(fd, bytes, size_++);
}

std::span<const std::size_t> SendBatch::Send() {
  const std::span<std::size_t> sent(sent_.data(), size_);
  ring_->Run(static_cast<std::uint32_t>(size_), sent);
  size_ = 0;
  return sent;
}

}  // namespace everstep
