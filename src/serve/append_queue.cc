#include "serve/append_queue.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace everstep {
namespace {

// Under load batches grow while others are synced. The bounds keep the wait for another request's
// events short.
constexpr std::size_t kEventsPerBatch = 1'024;
constexpr std::size_t kBytesPerBatch = 1 << 20;
// At least this many events justify a second write while another is in flight.
constexpr std::size_t kEventsWorthASecond = 512;
// Up to this many requests form one batch; of more, half is taken.
constexpr std::size_t kRequestsWorthHalving = 24;
// A batch keeps its memory up to this many requests.
constexpr std::size_t kRequestsKept = 512;

using Requests = std::vector<std::unique_ptr<AppendQueue::Request>>;

const std::string& TenantOf(const std::unique_ptr<AppendQueue::Request>& request) {
  return request->defaults.tenant_id;
}

bool IsOfOneTenant(const Requests& requests) {
  return std::ranges::all_of(
      requests, [&](const auto& request) { return TenantOf(request) == TenantOf(requests[0]); });
}

// Tenants take turns, and within a turn the smallest request goes first, so that however much one
// tenant appends, another's event waits for one batch and not for the whole backlog. The order of a
// tenant's own requests is kept.
void TakeTurns(Requests& requests) {
  struct Turn {
    std::size_t number;
    std::size_t events;
    std::unique_ptr<AppendQueue::Request> request;
  };
  std::unordered_map<std::string_view, std::size_t> turns;
  std::vector<Turn> order;
  order.reserve(requests.size());
  for (auto& request : requests) {
    const std::size_t number = turns[TenantOf(request)]++;
    order.push_back({number, request->events.size(), std::move(request)});
  }
  std::ranges::stable_sort(order, [](const Turn& a, const Turn& b) {
    return std::pair(a.number, a.events) < std::pair(b.number, b.events);
  });
  for (std::size_t i = 0; i < order.size(); ++i) requests[i] = std::move(order[i].request);
}

// Sorts a batch so that each tenant's parts become one call to the log, the fewest events first.
template <typename Parts>
void GroupByTenant(Parts& parts) {
  std::unordered_map<std::string, std::size_t> events;
  for (const auto& part : parts) events[TenantOf(part.request)] += part.events;
  std::ranges::stable_sort(parts, [&](const auto& a, const auto& b) {
    const std::string& of_a = TenantOf(a.request);
    const std::string& of_b = TenantOf(b.request);
    return std::pair(events[of_a], of_a) < std::pair(events[of_b], of_b);
  });
}

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
  const bool several = !gathered_.empty() && !IsOfOneTenant(gathered_);
  if (several) TakeTurns(gathered_);
  std::size_t count = 0;
  std::size_t events = 0;
  std::size_t bytes = 0;
  while (count < most && events < kEventsPerBatch && bytes < kBytesPerBatch) {
    std::unique_ptr<Request>& request = gathered_[count++];
    const std::size_t before = events;
    events_ -= request->left().size();
    for (const std::string_view event : request->left()) {
      if (events >= kEventsPerBatch || bytes >= kBytesPerBatch) break;
      bytes += event.size();
      ++events;
    }
    batch.push_back({std::move(request), events - before});
  }
  gathered_.erase(gathered_.begin(), gathered_.begin() + static_cast<std::ptrdiff_t>(count));
  if (several) GroupByTenant(batch);
  taken_last_ = count;
  flushed_ = !gathered_.empty();
}

// Puts unfinished requests back in front of those that were added later.
void AppendQueue::PutBack(Batch& batch) {
  for (Part& part : batch) {
    if (part.request == nullptr) continue;
    events_ += part.request->left().size();
    gathered_.insert(gathered_.begin(), std::move(part.request));
    flushed_ = true;
  }
  batch.clear();
  if (batch.capacity() > kRequestsKept) Batch().swap(batch);
}

void AppendQueue::Loop(Appender& own) {
  Batch batch;  // reused across rounds to keep its memory
  std::unique_lock lock(mutex_);
  while (true) {
    own.woken.wait(lock, [&] { return stop_ || HasWorkFor(own); });
    if (gathered_.empty()) return;
    Take(batch);
    own.busy = true;
    if (HasWorkFor(second_)) second_.woken.notify_one();
    lock.unlock();
    Append(batch);
    lock.lock();
    PutBack(batch);
    own.busy = false;
    if (&own == &second_ && HasWorkFor(first_)) first_.woken.notify_one();
  }
}

void AppendQueue::Append(Batch& batch) {
  std::vector<std::string_view> events;
  for (std::size_t from = 0; from < batch.size();) {
    std::size_t to = from;
    events.clear();
    while (to < batch.size() && Together(*batch[from].request, *batch[to].request)) {
      const auto next = batch[to].request->left().first(batch[to].events);
      events.insert(events.end(), next.begin(), next.end());
      ++to;
    }
    const Request& first = *batch[from].request;
    auto answers = log_.AppendAll(first.dialect, events, first.defaults);
    std::span<Result<Appended>> left(answers);
    for (; from < to; ++from) {
      Request& request = *batch[from].request;
      std::span<Result<Appended>> own = left.first(batch[from].events);
      left = left.subspan(own.size());
      const bool whole = own.size() == request.events.size();
      if (!whole) {
        request.answered_.insert(request.answered_.end(), std::make_move_iterator(own.begin()),
                                 std::make_move_iterator(own.end()));
        if (!request.left().empty()) continue;
        own = request.answered_;
      }
      request.Done(std::move(batch[from].request), own);
    }
  }
}

}  // namespace everstep
