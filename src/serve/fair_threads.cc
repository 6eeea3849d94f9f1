#include "serve/fair_threads.h"

#include <signal.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/assert.h"

namespace everstep {
namespace {

// This many idle parties are kept, so that their next work need not allocate the entry again.
constexpr std::size_t kPartiesKept = 1'024;

}  // namespace

FairThreads::FairThreads(std::uint32_t threads_max, std::uint32_t reserved)
    : threads_max_(threads_max), reserved_(reserved) {
  EVERSTEP_ASSERT(reserved < threads_max);
  const std::lock_guard lock(mutex_);
  idle_.push_back(&MakeWorker());
}

FairThreads::~FairThreads() { Finish(); }

void FairThreads::Finish() {
  Stop();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (const auto& worker : workers_) worker->woken.notify_one();
  }
  for (const auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

void FairThreads::Stop() {
  // Destroyed without the lock: captured objects may call back.
  std::vector<std::deque<Work>> dropped;
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (auto* party : waiting_) dropped.push_back(std::exchange(party->second.queue, {}));
  waiting_.clear();
}

void FairThreads::Run(std::string_view party_name, Work work) {
  std::unique_lock lock(mutex_);
  if (stopped_) {
    lock.unlock();
    return;
  }
  auto& party = *parties_.try_emplace(std::string(party_name)).first;
  Worker* worker = party.second.queue.empty() && MayRun(party.second) ? FreeWorker() : nullptr;
  if (worker != nullptr) {
    Begin(*worker, party, std::move(work));
    lock.unlock();
    worker->woken.notify_one();
    return;
  }
  if (party.second.queue.empty()) waiting_.push_back(&party);
  party.second.queue.push_back(std::move(work));
}

bool FairThreads::MayRun(const Party& party) const {
  const std::uint32_t free = threads_max_ - busy_;
  return free > (party.running == 0 ? 0 : reserved_);
}

void FairThreads::Begin(Worker& worker, Parties::value_type& party, Work work) {
  worker.party = &party;
  worker.work = std::move(work);
  ++party.second.running;
  ++busy_;
}

FairThreads::Worker* FairThreads::FreeWorker() {
  if (!idle_.empty()) {
    Worker* worker = idle_.back();
    idle_.pop_back();
    return worker;
  }
  try {
    return &MakeWorker();
  } catch (const std::system_error&) {
    return nullptr;  // the existing threads process the queue
  }
}

FairThreads::Worker& FairThreads::MakeWorker() {
  auto made = std::make_unique<Worker>();
  Worker& worker = *made;
  workers_.reserve(workers_.size() + 1);
  made->thread = std::thread([this, &worker] { Loop(worker); });
  workers_.push_back(std::move(made));
  return worker;
}

bool FairThreads::Next(Worker& worker) {
  for (auto turn = waiting_.begin(); turn != waiting_.end(); ++turn) {
    Parties::value_type& party = **turn;
    if (!MayRun(party.second)) continue;
    waiting_.erase(turn);
    Work work = std::move(party.second.queue.front());
    party.second.queue.pop_front();
    if (!party.second.queue.empty()) waiting_.push_back(&party);
    Begin(worker, party, std::move(work));
    return true;
  }
  return false;
}

void FairThreads::Forget(Parties::value_type& party) {
  const bool in_use = party.second.running > 0 || !party.second.queue.empty();
  if (!in_use && parties_.size() > kPartiesKept) parties_.erase(party.first);
}

void FairThreads::Loop(Worker& worker) {
  // Block all signals: SIGPIPE must not end the process, and the others belong to other threads.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock lock(mutex_);
  while (true) {
    worker.woken.wait(lock, [&] { return worker.work || ending_; });
    while (worker.work) {
      Work work = std::exchange(worker.work, nullptr);
      lock.unlock();
      work();
      work = nullptr;  // destroy its captures before the thread counts as idle
      lock.lock();
      Parties::value_type& party = *std::exchange(worker.party, nullptr);
      --party.second.running;
      --busy_;
      if (Next(worker)) continue;
      Forget(party);
      if (!ending_) idle_.push_back(&worker);
    }
    if (ending_) return;
  }
}

}  // namespace everstep
