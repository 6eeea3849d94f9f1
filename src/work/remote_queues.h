#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "work/remote_task.h"

namespace everstep {

// The tasks that wait, by tenant, queue and kind. What is given out is ordered by priority and then
// by arrival; a queue that has lent as many as it may gives out nothing. Under the owner's lock.
class RemoteQueues {
 public:
  // ---- tasks
  // Puts a task with its `task` and `queued_at` on its shelf.
  void Put(RemoteTask& task);
  // A waiting task leaves.
  void Remove(RemoteTask& task);
  // The best tasks for a worker, up to `count`. They count as held from here.
  std::vector<RemoteTask*> Take(const RemoteWorker& worker, std::size_t count);
  // A held task has ended. True: its queue was full and is not any more; it stays.
  bool Release(RemoteTask& task);

  // ---- workers
  void Add(RemoteWorker& worker);
  void Remove(RemoteWorker& worker);
  // Among those that ask if it has a poll that waits and a free slot, else not.
  void Update(RemoteWorker& worker);

  // ---- people
  // Nothing: without a limit it is forgotten.
  RemoteQueue* SetConcurrency(std::string_view tenant_id, std::string_view queue,
                              std::uint32_t limit);
  std::vector<QueueView> Views(std::string_view tenant_id, Timestamp now) const;
  // Of all tenants together; without names and limits.
  QueueView Totals(Timestamp now) const;
  std::uint64_t waiting() const { return waiting_; }
  // A shelf without tasks, workers and news is gone after this.
  void ForgetIfUnused(RemoteShelf& shelf);

 private:
  using Name = std::pair<std::string, std::string>;  // tenant, queue

  RemoteQueue& QueueOf(std::string_view tenant_id, std::string_view queue);
  RemoteShelf& ShelfOf(std::string_view tenant_id, std::string_view queue, std::string_view kind);
  void Unlist(RemoteTask& task);

  std::map<Name, std::unique_ptr<RemoteQueue>> queues_;
  std::uint64_t arrivals_ = 0;
  std::uint64_t waiting_ = 0;
};

}  // namespace everstep
