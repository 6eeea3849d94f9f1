#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace everstep {

// Buffers that connections borrow while they have something to write, so that busy ones need no
// allocation and idle ones keep nothing. One thread.
class BufferPool {
 public:
  std::string Take();
  void Give(std::string&& buffer);

 private:
  std::vector<std::string> spare_;
};

// What is still to be written to one socket, in order.
class OutputQueue {
 public:
  explicit OutputQueue(BufferPool& pool) : pool_(pool) {}

  // Where the next bytes are appended. Valid until the next call.
  std::string& Tail();
  // Large ones are not copied.
  void Append(std::string&& body);

  bool empty() const { return pieces_.empty(); }
  std::size_t bytes() const;
  // The front of the queue; the number of parts that were set.
  std::size_t Front(std::span<iovec> parts) const;
  void Consume(std::size_t bytes);
  void Clear();

 private:
  BufferPool& pool_;
  std::vector<std::string> pieces_;
  std::size_t written_ = 0;  // of the first piece
  bool sealed_ = true;       // the last piece is not appended to
};

}  // namespace everstep
