#include "net/output_queue.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.h"

namespace everstep {
namespace {

constexpr std::size_t kPieceBytes = 16 << 10;  // nothing is appended to a piece of this size
constexpr std::size_t kSpareBytesMax = 32 << 10;
constexpr std::size_t kSpareMax = 64;
constexpr std::size_t kFirstBytes = 512;

}  // namespace

std::string BufferPool::Take() {
  if (spare_.empty()) {
    std::string fresh;
    fresh.reserve(kFirstBytes);
    return fresh;
  }
  std::string buffer = std::move(spare_.back());
  spare_.pop_back();
  return buffer;
}

void BufferPool::Give(std::string&& buffer) {
  if (buffer.capacity() < kFirstBytes || buffer.capacity() > kSpareBytesMax) return;
  if (spare_.size() == kSpareMax) return;
  buffer.clear();
  spare_.push_back(std::move(buffer));
}

std::string& OutputQueue::Tail() {
  if (sealed_ || pieces_.back().own.size() >= kPieceBytes) {
    pieces_.push_back({pool_.Take(), nullptr});
    sealed_ = false;
  }
  return pieces_.back().own;
}

void OutputQueue::Append(std::string&& body) {
  if (body.empty()) return;
  if (body.size() < kPieceBytes) {
    Tail().append(body);
    return;
  }
  pieces_.push_back({std::move(body), nullptr});
  sealed_ = true;
}

void OutputQueue::Append(std::shared_ptr<const std::string> shared_body) {
  if (shared_body->empty()) return;
  pieces_.push_back({{}, std::move(shared_body)});
  sealed_ = true;
}

std::size_t OutputQueue::bytes() const {
  return std::accumulate(
             pieces_.begin(), pieces_.end(), std::size_t{0},
             [](std::size_t sum, const Piece& piece) { return sum + piece.text().size(); }) -
         written_;
}

std::size_t OutputQueue::own_bytes() const {
  return std::accumulate(
      pieces_.begin(), pieces_.end(), std::size_t{0},
      [](std::size_t sum, const Piece& piece) { return sum + piece.own.size(); });
}

std::size_t OutputQueue::Front(std::span<iovec> parts) const {
  const std::size_t count = std::min(parts.size(), pieces_.size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view text = pieces_[i].text().substr(i == 0 ? written_ : 0);
    parts[i].iov_base = const_cast<char*>(text.data());
    parts[i].iov_len = text.size();
  }
  return count;
}

void OutputQueue::Consume(std::size_t bytes) {
  std::size_t whole = 0;
  written_ += bytes;
  while (whole < pieces_.size() && written_ >= pieces_[whole].text().size()) {
    written_ -= pieces_[whole].text().size();
    pool_.Give(std::move(pieces_[whole].own));
    ++whole;
  }
  pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(whole));
  if (!pieces_.empty()) return;
  EVERSTEP_ASSERT(written_ == 0);
  sealed_ = true;
  if (pieces_.capacity() > 2) pieces_ = {};
}

void OutputQueue::Clear() {
  pieces_ = {};
  written_ = 0;
  sealed_ = true;
}

}  // namespace everstep
