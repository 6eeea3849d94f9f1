#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "engine/committer.h"
#include "everstep/result.h"
#include "store/state_store.h"
#include "work/remote_work.h"

namespace everstep {

// How many tasks of a queue workers may hold at once: set by operators, and kept over restarts.
// Thread-safe; blocks on the store.
class QueueLimits {
 public:
  // Limits that were set before hold again. All must outlive it.
  QueueLimits(StateStore& store, Committer& committer, RemoteWork& work);

  // Durable on return, and in force. Zero: no limit any more. kInvalidArgument: no name of a queue;
  // kAdmissionRejected: the tenant has limited a thousand queues.
  Status Set(const std::string& tenant_id, const std::string& queue, std::uint32_t limit);

 private:
  Status Load();

  StateStore& store_;
  Committer& committer_;
  RemoteWork& work_;
  std::mutex mutex_;  // what holds is what was written last
};

}  // namespace everstep
