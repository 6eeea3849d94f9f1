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
// Fewer requests than these are one batch.
constexpr std::size_t kRequestsWorthHalving = 24;
// Memory for so many is kept while there are fewer.
constexpr std::size_t kRequestsKept = 512;

bool Together(const AppendQueue::Request& a, const AppendQueue::Request& b) {
  return a.dialect == b.dialect && a.defaults == b.defaults;
}

}  // namespace

AppendQueue::AppendQueue(Log& log) : log_(log) {
  for (Appender* appender : {&first_, &second_}) {
    appender->thread = std::thread([this, appender] { Loop(*appender); });
  }
}

AppendQueue::~AppendQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  for (Appender* appender : {&first_, &second_}) {
    appender->woken.notify_one();
    appender->thread.join();
  }
}

void AppendQueue::Add(std::unique_ptr<Request> request) {
  const std::lock_guard lock(mutex_);
  events_ += request->events.size();
  gathered_.push_back(std::move(request));
}

void AppendQueue::Flush() {
  Appender* free = nullptr;
  {
    const std::lock_guard lock(mutex_);
    flushed_ = !gathered_.empty();
    if (HasWorkFor(first_)) {
      free = &first_;
    } else if (HasWorkFor(second_)) {
      free = &second_;
    }
  }
  if (free != nullptr) free->woken.notify_one();
}

bool AppendQueue::HasWorkFor(const Appender& appender) const {
  if (!flushed_ || appender.busy) return false;
  return &appender == &first_ || (first_.busy && events_ >= kEventsWorthASecond);
}

void AppendQueue::Take(Batch& batch) {
  std::size_t most = gathered_.size();
  if (most > kRequestsWorthHalving && events_ < kEventsWorthASecond) {
    most = std::min(most, (most + taken_last_ + 1) / 2);
  }
  std::size_t count = 0;
  std::size_t events = 0;
  while (count < most && events < kEventsPerBatch) events += gathered_[count++]->events.size();
  if (count == gathered_.size()) {
    batch.swap(gathered_);
  } else {
    const auto end = gathered_.begin() + static_cast<std::ptrdiff_t>(count);
    std::move(gathered_.begin(), end, std::back_inserter(batch));
    gathered_.erase(gathered_.begin(), end);
  }
  events_ -= events;
  taken_last_ = count;
  flushed_ = !gathered_.empty();
}

void AppendQueue::Loop(Appender& own) {
  Batch batch;  // its memory serves again and again
  std::unique_lock lock(mutex_);
  while (true) {
    own.woken.wait(lock, [&] { return stop_ || HasWorkFor(own); });
    if (gathered_.empty()) return;
    Take(batch);
    own.busy = true;
    if (HasWorkFor(second_)) second_.woken.notify_one();
    lock.unlock();
    Append(batch);
    batch.clear();
    if (batch.capacity() > kRequestsKept) Batch().swap(batch);
    lock.lock();
    own.busy = false;
  }
}

void AppendQueue::Append(Batch& batch) {
  for (std::size_t from = 0; from < batch.size();) {
    std::size_t to = from;
    std::vector<std::string_view> events;
    while (to < batch.size() && Together(*batch[from], *batch[to])) {
      events.insert(events.end(), batch[to]->events.begin(), batch[to]->events.end());
      ++to;
    }
    auto answers = log_.AppendAll(batch[from]->dialect, events, batch[from]->defaults);
    std::span<Result<Appended>> left(answers);
    for (; from < to; ++from) {
      Request& request = *batch[from];
      const auto own = left.first(request.events.size());
      left = left.subspan(own.size());
      request.Done(std::move(batch[from]), own);
    }
  }
}

}  // namespace everstep
