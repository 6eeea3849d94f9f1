#include "engine/commit_feed.h"

#include "base/assert.h"

namespace everstep {

CommitFeed::Watch::Watch(CommitFeed& feed, std::string run_id)
    : feed_(feed), run_id_(std::move(run_id)) {
  const std::lock_guard lock(feed_.mutex_);
  feed_.watches_.emplace(run_id_, this);
  feed_.NoteWatched();
}

CommitFeed::Watch::~Watch() {
  const std::lock_guard lock(feed_.mutex_);
  const std::size_t removed =
      std::erase_if(feed_.watches_, [this](const auto& entry) { return entry.second == this; });
  EVERSTEP_ASSERT(removed == 1);
  feed_.NoteWatched();
}

std::uint64_t CommitFeed::Watch::ticks() {
  const std::lock_guard lock(feed_.mutex_);
  return ticks_;
}

bool CommitFeed::Watch::WaitPast(std::uint64_t seen, std::chrono::milliseconds wait) {
  std::unique_lock lock(feed_.mutex_);
  EVERSTEP_ASSERT(seen <= ticks_);
  changed_.wait_for(lock, wait, [&] { return closed_ || ticks_ > seen; });
  return !closed_ && ticks_ > seen;
}

void CommitFeed::Watch::Nudge() {
  const std::lock_guard lock(feed_.mutex_);
  ++ticks_;
  changed_.notify_all();
}

void CommitFeed::Watch::Close() {
  const std::lock_guard lock(feed_.mutex_);
  closed_ = true;
  changed_.notify_all();
}

void CommitFeed::Add(Listener& listener) {
  const std::lock_guard lock(mutex_);
  listeners_.push_back(&listener);
  NoteWatched();
}

void CommitFeed::Remove(Listener& listener) {
  const std::lock_guard lock(mutex_);
  const std::size_t removed = std::erase(listeners_, &listener);
  EVERSTEP_ASSERT(removed == 1);
  NoteWatched();
}

void CommitFeed::NoteWatched() {
  watched_.store(!watches_.empty() || !listeners_.empty(), std::memory_order_release);
}

void CommitFeed::Durable(std::span<const std::shared_ptr<CommitUnit>> units) {
  if (!watched_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  for (Listener* listener : listeners_) listener->Durable(units);
  const auto wake = [this](std::string_view run_id) {
    const auto [begin, end] = watches_.equal_range(run_id);
    for (auto entry = begin; entry != end; ++entry) {
      ++entry->second->ticks_;
      entry->second->changed_.notify_all();
    }
  };
  for (const auto& unit : units) wake(unit->change.run_id.value());
  wake("");
}

}  // namespace everstep
