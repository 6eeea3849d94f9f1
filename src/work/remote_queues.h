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

// The waiting tasks by tenant, queue and kind. Tasks are handed out by priority and then in order
// of arrival. A queue at its concurrency limit hands out none. Not thread-safe: the owner must hold
// its lock.
class RemoteQueues {
 public:
  // ---- tasks
  // Puts a task on its shelf. Requires: its `task` and `queued_at` are set.
  void Put(RemoteTask& task);
  // Removes a waiting task.
  void Remove(RemoteTask& task);
  // Takes the next tasks for a worker, up to `count` and 4 MiB of inputs. They count as held from
  // now on.
  std::vector<RemoteTask*> Take(const RemoteWorker& worker, std::size_t count);
  // Removes a held task that has ended. Returns true if its queue was full and no longer is; such a
  // queue is not forgotten.
  bool Release(RemoteTask& task);

  // ---- workers
  void Add(RemoteWorker& worker);
  void Remove(RemoteWorker& worker);
  // The worker gets no more tasks.
  void Drain(RemoteWorker& worker);
  // Lists the worker as asking on its shelves if it has a waiting poll and a free slot, and removes
  // it from those lists otherwise. Must be called after either changes.
  void Update(RemoteWorker& worker);

  // ---- operators
  // Returns the queue, or null if it has been forgotten because it is unused and has no limit.
  RemoteQueue* SetConcurrency(std::string_view tenant_id, std::string_view queue,
                              std::uint32_t limit);
  std::vector<QueueView> Views(std::string_view tenant_id, Timestamp now) const;
  // The sum over all tenants, without names, workers and limits. Takes the same time however many
  // queues there are.
  QueueView Totals(Timestamp now) const;
  std::uint64_t waiting() const { return waiting_.size(); }
  // Deletes the shelf if it has no tasks, workers or news, and its queue if that is unused then.
  void ForgetIfUnused(RemoteShelf& shelf);

 private:
  using Name = std::pair<std::string, std::string>;  // tenant, queue

  RemoteQueue& QueueOf(std::string_view tenant_id, std::string_view queue);
  RemoteShelf& ShelfOf(std::string_view tenant_id, std::string_view queue, std::string_view kind);
  void Unlist(RemoteTask& task);

  std::map<Name, std::unique_ptr<RemoteQueue>> queues_;
  std::uint64_t arrivals_ = 0;
  std::map<std::uint64_t, const RemoteTask*> waiting_;  // in order of arrival
  std::uint64_t held_ = 0;
};

}  // namespace everstep
