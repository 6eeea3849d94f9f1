#include "net/server_stream.h"

#include <utility>

namespace everstep {

bool ServerStream::Write(std::string_view piece, bool& wake) {
  const std::lock_guard lock(mutex_);
  wake = false;
  if (closed_ || ended_) return false;
  if (piece.empty()) return true;
  const std::size_t queued = pending_.size() + unsent_.load(std::memory_order_relaxed);
  // A single piece that is larger does not mean a slow reader.
  if (queued > 0 && queued + piece.size() > bytes_max_) {
    cut_off_ = closed_ = true;
    pending_ = {};
    wake = true;
    return false;
  }
  pending_ += piece;
  wake = !std::exchange(touched_, true);
  return true;
}

void ServerStream::End(bool& wake) {
  const std::lock_guard lock(mutex_);
  wake = !closed_ && !ended_ && !std::exchange(touched_, true);
  ended_ = writer_ended_ = true;
}

void ServerStream::Finish() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
}

void ServerStream::Abandon(bool& wake) {
  const std::lock_guard lock(mutex_);
  wake = !closed_ && !ended_ && !std::exchange(touched_, true);
  if (!ended_) broken_ = true;
}

void ServerStream::OnChange(Changed changed, bool& wake) {
  // An empty `changed` ends the notifications.
  std::shared_ptr<const Changed> shared;
  if (changed) shared = std::make_shared<const Changed>(std::move(changed));
  const std::lock_guard lock(mutex_);
  changed_.swap(shared);
  wake = closed_ && !writer_ended_ && !notified_;
}

std::size_t ServerStream::queued() const {
  const std::lock_guard lock(mutex_);
  return pending_.size() + unsent_.load(std::memory_order_relaxed);
}

bool ServerStream::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_ || ended_;
}

ServerStream::Taken ServerStream::Take() {
  Taken taken;
  const std::lock_guard lock(mutex_);
  touched_ = false;
  taken.bytes.swap(pending_);
  // Under the lock, so that every writer sees the bytes in one of the two places.
  unsent_.store(unsent_.load(std::memory_order_relaxed) + taken.bytes.size(),
                std::memory_order_relaxed);
  taken.ended = ended_;
  return taken;
}

ServerStream::Fate ServerStream::fate() const {
  const std::lock_guard lock(mutex_);
  return {broken_, cut_off_};
}

void ServerStream::SetUnsent(std::size_t bytes) {
  if (unsent_.load(std::memory_order_relaxed) == bytes) return;
  std::shared_ptr<const Changed> changed;
  {
    const std::lock_guard lock(mutex_);
    unsent_.store(bytes, std::memory_order_relaxed);
    if (bytes == 0 && pending_.empty() && !ended_ && !closed_) changed = changed_;
  }
  if (changed != nullptr) (*changed)();
}

void ServerStream::Close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    pending_ = {};
    unsent_.store(0, std::memory_order_relaxed);
  }
  TellIfClosed();
}

void ServerStream::TellIfClosed() {
  std::shared_ptr<const Changed> changed;
  bool notify = false;
  {
    const std::lock_guard lock(mutex_);
    if (!closed_ || changed_ == nullptr) return;
    changed.swap(changed_);  // release whatever it holds
    notify = !writer_ended_ && !std::exchange(notified_, true);
  }
  if (notify) (*changed)();
}

}  // namespace everstep
