// Receives orders and waits for them.

#include <algorithm>
#include <iterator>
#include <utility>

#include "run/lane_resident.h"

namespace everstep {

void Lane::Post(LaneOrder order) {
  bool wake = false;
  bool closed = false;
  if (std::holds_alternative<WaitOrder>(order.what)) waits_.fetch_add(1);
  if (std::holds_alternative<AdmitOrder>(order.what)) admits_.fetch_add(1);
  {
    const std::lock_guard lock(mutex_);
    closed = closed_;
    if (!closed) posted_.push_back(std::move(order));
    wake = sleeping_;
  }
  if (closed) return Refuse(order, {ErrorCode::kEngineStopped, "the engine is stopping", {}});
  if (wake) woken_.notify_one();
}

std::size_t Lane::Backlog() {
  const std::lock_guard lock(mutex_);
  return posted_.size() + waiting_count_.load();
}

void Lane::Finished(const TaskId& task, TaskOutcome outcome) {
  world_.counters.tasks_under_way.fetch_sub(1);
  Post({task.run_id, ReportOrder{task, std::move(outcome)}});
}

void Lane::Finished(const TaskId& task, TaskOutcome outcome, std::function<void(Status)> answer) {
  world_.counters.tasks_under_way.fetch_sub(1);
  Post({task.run_id, ReportOrder{task, std::move(outcome), std::move(answer)}});
}

void Lane::Lost(const TaskId& task) {
  world_.counters.tasks_under_way.fetch_sub(1);
  Post({task.run_id, LostOrder{task}});
}

void Lane::Taken(const TaskId& task) { Post({task.run_id, TakenOrder{task}}); }

void Lane::Heartbeat(const TaskId& task) {
  {
    const std::lock_guard lock(mutex_);
    if (!beats_.insert(task).second) return;  // the one that waits is decided later than this one
  }
  Post({task.run_id, HeartbeatOrder{task}});
}

void Lane::NoteTaken(LaneOrder& order) {
  if (auto* wait = std::get_if<WaitOrder>(&order.what)) {
    if (!std::exchange(wait->decided, true)) waits_.fetch_sub(1);
  } else if (auto* admit = std::get_if<AdmitOrder>(&order.what)) {
    if (!std::exchange(admit->decided, true)) admits_.fetch_sub(1);
  } else if (const auto* beat = std::get_if<HeartbeatOrder>(&order.what)) {
    const std::lock_guard lock(mutex_);
    beats_.erase(beat->task);
  }
}

void Lane::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  woken_.notify_one();
}

void Lane::Close() {
  std::vector<LaneOrder> left = std::move(own_);
  own_.clear();
  std::ranges::move(waiting_.TakeAll(), std::back_inserter(left));
  waiting_count_ = 0;
  for (auto& [at, order] : again_) left.push_back(std::move(order));
  again_.clear();
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    std::ranges::move(posted_, std::back_inserter(left));
    posted_.clear();
  }
  for (LaneOrder& order : left) {
    Refuse(order, {ErrorCode::kEngineStopped, "the engine is stopping", {}});
  }
}

std::optional<Error> Lane::StoreFault() {
  const std::lock_guard lock(mutex_);
  return store_fault_;
}

void Lane::SetStoreFault(std::optional<Error> fault) {
  const std::lock_guard lock(mutex_);
  store_fault_ = std::move(fault);
}

bool Lane::Wait(Timestamp deadline) {
  std::unique_lock lock(mutex_);
  sleeping_ = true;
  const auto ready = [this] { return stop_ || !posted_.empty(); };
  if (deadline == Timestamp{}) {
    woken_.wait(lock, ready);
  } else {
    const auto left = deadline - world_.clock.Now();
    if (left > left.zero()) woken_.wait_for(lock, left, ready);
  }
  sleeping_ = false;
  return !stop_;
}

Timestamp Lane::NextDeadline() const {
  Timestamp next{};
  if (only_waits_) return world_.clock.Now() + std::chrono::milliseconds(1);
  if (!own_.empty() || !done_.empty() || !waiting_.empty()) return world_.clock.Now();
  if (!deadlines_.empty()) next = deadlines_.begin()->first;
  if (!again_.empty() && (next == Timestamp{} || again_.begin()->first < next)) {
    next = again_.begin()->first;
  }
  return next;
}

}  // namespace everstep
