#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "engine/committer.h"
#include "everstep/result.h"
#include "store/state_store.h"
#include "work/remote_work.h"

namespace everstep {

// Limits on how many tasks of a queue workers may hold at once, set by operators and persisted
// across restarts. Thread-safe; blocks on the store.
class QueueLimits {
 public:
  // Applies the limits persisted earlier. All arguments must outlive it.
  QueueLimits(StateStore& store, Committer& committer, RemoteWork& work);

  // The outcome of reading the persisted limits: an error means that one is not in force.
  const Status& loaded() const { return loaded_; }

  // In force and durable on return. Zero removes the limit. kInvalidArgument if it is not a valid
  // queue name; kAdmissionRejected if the tenant has limits on a thousand queues already.
  Status Set(const std::string& tenant_id, const std::string& queue, std::uint32_t limit);

 private:
  Status Load();

  StateStore& store_;
  Committer& committer_;
  RemoteWork& work_;
  Status loaded_ = Ok();
  std::mutex mutex_;  // keeps the applied limit equal to the last persisted one
};

}  // namespace everstep
