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

// The tasks, queues, workers and polls of remote work. All are guarded by the lock of RemoteWork.

namespace everstep {

struct RemoteShelf;
struct RemoteWorker;

// A task from its start to its report. It waits on a shelf until it is leased to a worker.
struct RemoteTask {
  Task task;  // complete while it waits; when it is leased, all but the id moves to the LentTask
  TaskReports* reports = nullptr;
  RemoteShelf* shelf = nullptr;
  std::uint64_t number = 0;  // in order of arrival
  Timestamp queued_at{};
  bool beats = false;                      // heartbeats are forwarded to the engine
  std::list<RemoteTask*>::iterator place;  // on its shelf, or in the `held` list of its worker
  // While it is leased:
  RemoteWorker* worker = nullptr;  // null while it waits
  std::string token;
  Timestamp lease_until{};
  std::list<RemoteTask*>::iterator lease;  // in State::leases
  std::shared_ptr<const SecretMask> mask;  // null if it has no secrets
};

struct RemoteQueue {
  std::string tenant_id;
  std::string name;
  std::map<std::string, std::unique_ptr<RemoteShelf>, std::less<>> shelves;  // by kind
  std::uint32_t held = 0;
  std::uint32_t concurrency = 0;  // zero: no limit
  bool has_room = false;          // it was full, and is to be served: in State::with_room

  bool full() const { return concurrency > 0 && held >= concurrency; }
};

// The tasks of one kind in a queue. It exists while it has tasks or workers.
struct RemoteShelf {
  RemoteQueue* queue = nullptr;
  std::string kind;
  std::map<std::int32_t, std::list<RemoteTask*>, std::greater<>> waiting;  // by priority
  std::uint64_t waiting_count = 0;
  std::uint64_t held = 0;
  std::set<RemoteWorker*> workers;  // the workers that serve it
  std::size_t draining = 0;         // how many of them are draining
  std::list<RemoteWorker*> asking;  // those of them that have a waiting poll and a free slot
  bool has_news = false;            // tasks have been added since the last flush

  RemoteTask* first() const { return waiting.empty() ? nullptr : waiting.begin()->second.front(); }
};

// A worker's poll that has not been answered.
struct RemotePoll {
  std::function<void(Result<PollAnswer>)> answer;
  std::shared_ptr<RemoteWorker> worker;
  PollAnswer given;
  std::uint32_t tasks_max = 0;
  Timestamp until{};                                     // the deadline of its wait
  std::vector<std::string> tokens;                       // of its accepted reports
  std::size_t open = 0;                                  // reports that are not durable yet
  std::function<void(std::function<void()>)> elsewhere;  // see PollRequest
  // While it waits for a task:
  std::list<std::shared_ptr<RemotePoll>>::iterator place;      // in RemoteWorker::polls
  std::multimap<Timestamp, RemotePoll*>::iterator impatience;  // in State::patience
};

struct RemoteWorker {
  std::string id;
  WorkerSpec spec;
  Timestamp seen_at{};
  bool draining = false;
  bool removed = false;
  std::vector<RemoteShelf*> shelves;
  std::list<RemoteTask*> held;
  std::set<std::string> stop;                    // tokens to report as stopped in the next answer
  std::list<std::shared_ptr<RemotePoll>> polls;  // those that wait for a task
  std::list<RemoteWorker*>::iterator seen;       // in State::seen
  // Its positions in the `asking` lists of its shelves; empty if it is not asking.
  std::vector<std::list<RemoteWorker*>::iterator> asking;

  std::uint32_t free_slots() const {
    const bool none = draining || removed || held.size() >= spec.slots;
    return none ? 0 : spec.slots - static_cast<std::uint32_t>(held.size());
  }
};

}  // namespace everstep
