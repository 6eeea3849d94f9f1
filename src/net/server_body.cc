#include "net/server_body.h"

#include <algorithm>
#include <utility>

namespace everstep {

RequestBody::Piece ServerBody::Take() {
  Piece piece;
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    piece = {std::exchange(pending_, {}), state_};
    lent_ = piece.bytes.size();
    if (piece.bytes.empty() && state_ == State::kComing) notified_ = false;
    wake = std::exchange(waiting_, false);
  }
  if (wake) wake_();
  return piece;
}

void ServerBody::OnChange(Changed changed) {
  auto shared = changed ? std::make_shared<const Changed>(std::move(changed)) : nullptr;
  std::unique_lock lock(mutex_);
  changed_.swap(shared);
  notified_ = false;
  if (!pending_.empty() || state_ != State::kComing) Notify(std::move(lock));
}

std::size_t ServerBody::Room() {
  const std::lock_guard lock(mutex_);
  const std::size_t room = bytes_max_ - std::min(pending_.size(), bytes_max_);
  waiting_ = room == 0;
  return room;
}

void ServerBody::Write(std::string piece) {
  std::unique_lock lock(mutex_);
  if (pending_.empty()) {
    pending_ = std::move(piece);
  } else {
    pending_ += piece;
  }
  Notify(std::move(lock));
}

void ServerBody::Finish(State state) {
  std::unique_lock lock(mutex_);
  if (state_ != State::kComing) return;
  state_ = state;
  if (state == State::kBroken) pending_ = {};
  Notify(std::move(lock));
}

std::size_t ServerBody::held() const {
  const std::lock_guard lock(mutex_);
  return pending_.size() + lent_;
}

void ServerBody::Notify(std::unique_lock<std::mutex> lock) {
  const std::shared_ptr<const Changed> changed = changed_;
  // `changed` may own this body, so it is released with the last call.
  if (state_ != State::kComing) changed_.reset();
  const bool notify = changed != nullptr && !std::exchange(notified_, true);
  lock.unlock();
  if (notify) (*changed)();
}

}  // namespace everstep
