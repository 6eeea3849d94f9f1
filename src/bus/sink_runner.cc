#include "bus/sink_runner.h"

#include <algorithm>
#include <future>
#include <utility>

namespace everstep {
namespace {

// Only an upper bound: every relevant event wakes the thread.
constexpr std::chrono::milliseconds kWaitMax{60'000};

}  // namespace

SinkRunner::SinkRunner(Parts parts, std::unique_ptr<Sink> sink, SinkMark mark,
                       const SinkDefinition& definition)
    : parts_(std::move(parts)),
      watch_(parts_.log.feed(), ""),
      sink_(std::move(sink)),
      pump_({.store = parts_.log.store(),
             .committer = parts_.log.committer(),
             .clock = parts_.clock,
             .random = parts_.random,
             .sink = *sink_,
             .keep_payload = parts_.keep_payload,
             .on_alert = parts_.on_alert,
             .wake = [this] { Wake(); }},
            std::move(mark), definition) {
  thread_ = std::thread([this] { Loop(); });
}

SinkRunner::~SinkRunner() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  Wake();
  thread_.join();
  sink_.reset();  // no more reports after this
  pump_.SetPaused(true);
  (void)pump_.Turn(SteadyNow());  // process reports made during shutdown
  (void)pump_.Save();
}

void SinkRunner::Wake() {
  {
    const std::lock_guard lock(mutex_);
    is_woken_ = true;
  }
  woken_.notify_one();
  watch_.Nudge();
}

void SinkRunner::Loop() {
  while (true) {
    // Read before looking at the store, so that no change in between is missed.
    const std::uint64_t seen = watch_.ticks();
    std::vector<std::function<void()>> orders;
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      is_woken_ = false;
      orders.swap(orders_);
    }
    for (const auto& order : orders) order();
    const SinkPump::Next next = pump_.Turn(SteadyNow());
    Wait(next, seen);
  }
}

void SinkRunner::Wait(const SinkPump::Next& next, std::uint64_t seen) {
  auto wait = kWaitMax;
  if (next.at) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next.at - SteadyNow());
    wait = std::clamp(left, std::chrono::milliseconds(0), kWaitMax);
  }
  if (wait.count() == 0) return;
  if (next.on_commit) {
    (void)watch_.WaitPast(seen, wait);
    return;
  }
  // A sink that cannot accept more must not wake up for every commit.
  std::unique_lock lock(mutex_);
  woken_.wait_for(lock, wait, [this] { return is_woken_ || stop_; });
}

Status SinkRunner::Do(const std::function<Status()>& order) {
  std::promise<Status> promise;
  auto answer = promise.get_future();
  {
    const std::lock_guard lock(mutex_);
    orders_.push_back([&] { promise.set_value(order()); });
  }
  Wake();
  return answer.get();
}

Status SinkRunner::Begin(Replay replay) {
  return Do([&] { return pump_.Begin(std::move(replay)); });
}

Status SinkRunner::Purge(std::vector<std::pair<RunId, EventSeq>> letters) {
  return Do([&] { return pump_.Purge(letters); });
}

}  // namespace everstep
