#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace everstep {

// Buffers that connections borrow while they have something to write, so that busy ones need no
// allocation and idle ones keep no memory. Used by one thread.
class BufferPool {
 public:
  std::string Take();
  void Give(std::string&& buffer);

 private:
  std::vector<std::string> spare_;
};

// The bytes still to be written to one socket, in order.
class OutputQueue {
 public:
  explicit OutputQueue(BufferPool& pool) : pool_(pool) {}

  // Returns the buffer to which the next bytes are appended. Valid until the next call.
  std::string& Tail();
  // Large bodies are not copied.
  void Append(std::string&& body);
  void Append(std::shared_ptr<const std::string> shared_body);

  bool empty() const { return pieces_.empty(); }
  std::size_t bytes() const;
  // The memory that is held only for this queue.
  std::size_t own_bytes() const;
  // Sets `parts` to the front of the queue and returns the number of parts that were set.
  std::size_t Front(std::span<iovec> parts) const;
  void Consume(std::size_t bytes);
  void Clear();

 private:
  struct Piece {
    std::string own;
    std::shared_ptr<const std::string> shared;  // in place of `own`; null: none

    std::string_view text() const { return shared != nullptr ? *shared : own; }
  };

  BufferPool& pool_;
  std::vector<Piece> pieces_;
  std::size_t written_ = 0;  // of the first piece
  bool sealed_ = true;       // the last piece is not appended to
};

}  // namespace everstep
