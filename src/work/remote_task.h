#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/timestamp.h"
#include "run/tool.h"
#include "work/remote_work.h"
#include "work/secret_mask.h"

// What remote work keeps of tasks, queues, workers and polls. Guarded by the lock of RemoteWork.

namespace everstep {

struct RemoteShelf;
struct RemoteWorker;

// A task from its start to its report. It waits on a shelf until it is lent to a worker.
struct RemoteTask {
  Task task;  // while it waits; what is lent takes all but the id along
  TaskReports* reports = nullptr;
  RemoteShelf* shelf = nullptr;
  std::uint64_t number = 0;  // in order of arrival
  Timestamp queued_at{};
  bool beats = false;                      // the engine wants to know of heartbeats
  std::list<RemoteTask*>::iterator place;  // on the shelf, or among those that its worker holds
  // While it is lent:
  RemoteWorker* worker = nullptr;  // none: it waits
  std::string token;
  Timestamp lease_until{};
  std::list<RemoteTask*>::iterator lease;  // in the order of their ends
  std::shared_ptr<const SecretMask> mask;  // none: it has no secrets
};

struct RemoteQueue {
  std::string tenant_id;
  std::string name;
  std::map<std::string, std::unique_ptr<RemoteShelf>, std::less<>> shelves;  // by kind
  std::uint32_t held = 0;
  std::uint32_t concurrency = 0;  // zero: no limit

  bool full() const { return concurrency > 0 && held >= concurrency; }
};

// The tasks of one kind in a queue. It stays while it has tasks or workers.
struct RemoteShelf {
  RemoteQueue* queue = nullptr;
  std::string kind;
  std::map<std::int32_t, std::list<RemoteTask*>, std::greater<>> waiting;  // by priority
  std::uint64_t waiting_count = 0;
  std::uint64_t held = 0;
  std::set<RemoteWorker*> workers;  // that serve it
  std::list<RemoteWorker*> asking;  // of these, those that have a poll waiting and a slot free
  bool has_news = false;            // tasks came since the last flush

  RemoteTask* first() const { return waiting.empty() ? nullptr : waiting.begin()->second.front(); }
};

// A call of a worker that has not been answered.
struct RemotePoll {
  std::function<void(Result<PollAnswer>)> answer;
  std::shared_ptr<RemoteWorker> worker;
  PollAnswer given;
  std::uint32_t tasks_max = 0;
  Timestamp until{};                // the end of its patience
  std::vector<std::string> tokens;  // of its reports
  std::size_t open = 0;             // reports that are not durable
  // While it waits for a task:
  std::list<std::shared_ptr<RemotePoll>>::iterator place;      // with its worker
  std::multimap<Timestamp, RemotePoll*>::iterator impatience;  // by `until`
};

struct RemoteWorker {
  std::string id;
  WorkerSpec spec;
  Timestamp seen_at{};
  bool draining = false;
  bool removed = false;
  std::vector<RemoteShelf*> shelves;
  std::list<RemoteTask*> held;
  std::vector<std::string> stop;                 // tokens to be told
  std::list<std::shared_ptr<RemotePoll>> polls;  // that wait for a task
  std::list<RemoteWorker*>::iterator seen;       // in the order of their last calls
  // While it is among those that ask: its places on its shelves.
  std::vector<std::list<RemoteWorker*>::iterator> asking;

  std::uint32_t free_slots() const {
    const bool none = draining || removed || held.size() >= spec.slots;
    return none ? 0 : spec.slots - static_cast<std::uint32_t>(held.size());
  }
};

}  // namespace everstep
