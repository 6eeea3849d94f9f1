#include "serve/append_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace everstep {
namespace {

// Under load batches grow by themselves while others are synced; no more than this in one.
constexpr std::size_t kEventsPerBatch = 4'096;
// So many are worth a write of their own while another is under way.
constexpr std::size_t kEventsWorthASecond = 512;
// Memory for so many is kept while there are fewer.
constexpr std::size_t kEntriesKept = 512;

bool Together(const AppendQueue::Entry& a, const AppendQueue::Entry& b) {
  return a.dialect == b.dialect && a.defaults == b.defaults;
}

}  // namespace

AppendQueue::AppendQueue(Log& log) : log_(log) {
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { Loop(); });
}

AppendQueue::~AppendQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  woken_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void AppendQueue::Add(Entry entry) {
  const std::lock_guard lock(mutex_);
  events_ += entry.events.size();
  gathered_.push_back(std::move(entry));
}

void AppendQueue::Flush() {
  {
    const std::lock_guard lock(mutex_);
    if (gathered_.empty()) return;
    flushed_ = true;
    if (!MayAppend()) return;
  }
  woken_.notify_one();
}

bool AppendQueue::MayAppend() const {
  return flushed_ && !gathered_.empty() && (busy_ == 0 || events_ >= kEventsWorthASecond);
}

void AppendQueue::Take(Batch& batch) {
  if (events_ <= kEventsPerBatch) {
    batch.swap(gathered_);
    events_ = 0;
  } else {
    std::size_t count = 0;
    std::size_t events = 0;
    while (events < kEventsPerBatch) events += gathered_[count++].events.size();
    const auto end = gathered_.begin() + static_cast<std::ptrdiff_t>(count);
    std::move(gathered_.begin(), end, std::back_inserter(batch));
    gathered_.erase(gathered_.begin(), end);
    events_ -= events;
  }
  flushed_ = !gathered_.empty();
}

void AppendQueue::Loop() {
  Batch batch;  // its memory serves again and again
  std::unique_lock lock(mutex_);
  while (true) {
    woken_.wait(lock, [this] { return stop_ || MayAppend(); });
    if (gathered_.empty()) return;
    Take(batch);
    ++busy_;
    if (MayAppend()) woken_.notify_one();
    lock.unlock();
    Append(batch);
    batch.clear();
    if (batch.capacity() > kEntriesKept) batch = {};
    lock.lock();
    --busy_;
  }
}

void AppendQueue::Append(Batch& batch) {
  for (std::size_t from = 0; from < batch.size();) {
    std::size_t to = from;
    std::vector<std::string_view> events;
    while (to < batch.size() && Together(batch[from], batch[to])) {
      events.insert(events.end(), batch[to].events.begin(), batch[to].events.end());
      ++to;
    }
    auto answers = log_.AppendAll(batch[from].dialect, events, batch[from].defaults);
    std::span<Result<Appended>> left(answers);
    for (; from < to; ++from) {
      const std::size_t count = batch[from].events.size();
      batch[from].done(left.first(count));
      left = left.subspan(count);
    }
  }
}

}  // namespace everstep
