#include "work/remote_queues.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace everstep {
namespace {

constexpr std::size_t kInputBytesMax = 4 << 20;  // of the tasks of an answer

// Whether the first task of `a` comes after that of `b`.
bool IsLater(const RemoteShelf* a, const RemoteShelf* b) {
  const std::int32_t priority_a = a->waiting.begin()->first;
  const std::int32_t priority_b = b->waiting.begin()->first;
  if (priority_a != priority_b) return priority_a < priority_b;
  return a->first()->number > b->first()->number;
}

QueueView ViewOf(const RemoteQueue& queue, Timestamp now) {
  QueueView view;
  view.queue = queue.name;
  view.held = queue.held;
  view.concurrency = queue.concurrency;
  std::set<const RemoteWorker*> workers;
  Timestamp oldest = now;
  for (const auto& [kind, shelf] : queue.shelves) {
    view.waiting += shelf->waiting_count;
    for (const RemoteWorker* worker : shelf->workers) {
      if (!worker->draining) workers.insert(worker);
    }
    for (const auto& [priority, tasks] : shelf->waiting) {
      oldest = std::min(oldest, tasks.front()->queued_at);
    }
  }
  view.workers = static_cast<std::uint32_t>(workers.size());
  view.oldest = std::chrono::duration_cast<std::chrono::milliseconds>(now - oldest);
  return view;
}

}  // namespace

RemoteQueue& RemoteQueues::QueueOf(std::string_view tenant_id, std::string_view queue) {
  auto& place = queues_[{std::string(tenant_id), std::string(queue)}];
  if (place == nullptr) {
    place = std::make_unique<RemoteQueue>();
    place->tenant_id = tenant_id;
    place->name = queue;
  }
  return *place;
}

RemoteShelf& RemoteQueues::ShelfOf(std::string_view tenant_id, std::string_view queue,
                                   std::string_view kind) {
  RemoteQueue& of = QueueOf(tenant_id, queue);
  const auto known = of.shelves.find(kind);
  if (known != of.shelves.end()) return *known->second;
  auto shelf = std::make_unique<RemoteShelf>();
  shelf->queue = &of;
  shelf->kind = kind;
  return *of.shelves.emplace(std::string(kind), std::move(shelf)).first->second;
}

void RemoteQueues::ForgetIfUnused(RemoteShelf& shelf) {
  const bool used = shelf.waiting_count + shelf.held > 0 || !shelf.workers.empty();
  if (used || shelf.has_news) return;
  RemoteQueue& queue = *shelf.queue;
  queue.shelves.erase(queue.shelves.find(shelf.kind));
  if (queue.shelves.empty() && queue.concurrency == 0) {
    queues_.erase(Name(queue.tenant_id, queue.name));
  }
}

// ---- tasks

void RemoteQueues::Put(RemoteTask& task) {
  RemoteShelf& shelf = ShelfOf(task.task.scope.tenant_id, task.task.queue, task.task.kind);
  auto& list = shelf.waiting[task.task.priority];
  task.shelf = &shelf;
  task.number = ++arrivals_;
  task.place = list.insert(list.end(), &task);
  ++shelf.waiting_count;
  waiting_.emplace(task.number, &task);
}

void RemoteQueues::Unlist(RemoteTask& task) {
  RemoteShelf& shelf = *task.shelf;
  const auto list = shelf.waiting.find(task.task.priority);
  list->second.erase(task.place);
  if (list->second.empty()) shelf.waiting.erase(list);
  --shelf.waiting_count;
  waiting_.erase(task.number);
}

void RemoteQueues::Remove(RemoteTask& task) {
  Unlist(task);
  ForgetIfUnused(*task.shelf);
}

std::vector<RemoteTask*> RemoteQueues::Take(const RemoteWorker& worker, std::size_t count) {
  std::vector<RemoteTask*> taken;
  if (count == 0) return taken;
  std::vector<RemoteShelf*> heap;
  for (RemoteShelf* shelf : worker.shelves) {
    if (shelf->waiting_count > 0 && !shelf->queue->full()) heap.push_back(shelf);
  }
  std::ranges::make_heap(heap, IsLater);
  std::size_t bytes = 0;
  while (taken.size() < count && !heap.empty()) {
    std::ranges::pop_heap(heap, IsLater);
    RemoteShelf& shelf = *heap.back();
    if (shelf.queue->full()) {
      heap.pop_back();
      continue;
    }
    RemoteTask& task = *shelf.first();
    bytes += task.task.inputs.size();
    if (bytes > kInputBytesMax && !taken.empty()) break;
    Unlist(task);
    ++shelf.held;
    ++shelf.queue->held;
    ++held_;
    taken.push_back(&task);
    if (shelf.waiting_count > 0) {
      std::ranges::push_heap(heap, IsLater);
    } else {
      heap.pop_back();
    }
  }
  return taken;
}

bool RemoteQueues::Release(RemoteTask& task) {
  RemoteShelf& shelf = *task.shelf;
  const bool was_full = shelf.queue->full();
  --shelf.held;
  --shelf.queue->held;
  --held_;
  const bool others_may_go = was_full && !shelf.queue->full();
  ForgetIfUnused(shelf);
  return others_may_go;
}

// ---- workers

void RemoteQueues::Add(RemoteWorker& worker) {
  const WorkerSpec& spec = worker.spec;
  for (const std::string& kind : spec.kinds) {
    const std::vector<std::string> own{kind};
    for (const std::string& queue : spec.queues.empty() ? own : spec.queues) {
      RemoteShelf& shelf = ShelfOf(spec.tenant_id, queue, kind);
      if (shelf.workers.insert(&worker).second) worker.shelves.push_back(&shelf);
    }
  }
}

void RemoteQueues::Remove(RemoteWorker& worker) {
  Update(worker);
  for (RemoteShelf* shelf : worker.shelves) {
    shelf->workers.erase(&worker);
    if (worker.draining) --shelf->draining;
    ForgetIfUnused(*shelf);
  }
  worker.shelves.clear();
}

void RemoteQueues::Drain(RemoteWorker& worker) {
  if (std::exchange(worker.draining, true)) return;
  for (RemoteShelf* shelf : worker.shelves) ++shelf->draining;
}

void RemoteQueues::Update(RemoteWorker& worker) {
  const bool asks = !worker.polls.empty() && worker.free_slots() > 0;
  if (asks != worker.asking.empty()) return;
  if (asks) {
    for (RemoteShelf* shelf : worker.shelves) {
      worker.asking.push_back(shelf->asking.insert(shelf->asking.end(), &worker));
    }
    return;
  }
  for (std::size_t i = 0; i < worker.shelves.size(); ++i) {
    worker.shelves[i]->asking.erase(worker.asking[i]);
  }
  worker.asking.clear();
}

// ---- operators

RemoteQueue* RemoteQueues::SetConcurrency(std::string_view tenant_id, std::string_view queue,
                                          std::uint32_t limit) {
  RemoteQueue& of = QueueOf(tenant_id, queue);
  of.concurrency = limit;
  if (!of.shelves.empty() || limit > 0) return &of;
  queues_.erase(Name(tenant_id, queue));
  return nullptr;
}

QueueView RemoteQueues::Totals(Timestamp now) const {
  QueueView totals;
  totals.waiting = waiting_.size();
  totals.held = held_;
  if (waiting_.empty()) return totals;
  const Timestamp oldest = waiting_.begin()->second->queued_at;
  totals.oldest = std::chrono::duration_cast<std::chrono::milliseconds>(now - oldest);
  return totals;
}

std::vector<QueueView> RemoteQueues::Views(std::string_view tenant_id, Timestamp now) const {
  std::vector<QueueView> views;
  for (auto queue = queues_.lower_bound({std::string(tenant_id), {}});
       queue != queues_.end() && queue->first.first == tenant_id; ++queue) {
    views.push_back(ViewOf(*queue->second, now));
  }
  return views;
}

}  // namespace everstep
