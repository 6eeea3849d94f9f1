#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "testing/forwarding_store.h"

namespace everstep {

// A store that outlives the engines that open it, and that can lose power at a given commit.
class CrashingStore final : public ForwardingStore {
 public:
  struct Power {
    std::uint64_t commits = 0;               // number of durable commits
    std::uint64_t fails_after = UINT64_MAX;  // commits until the power fails for good
    bool last_is_written = false;            // the failing write becomes durable nevertheless
    bool failed = false;
    std::uint64_t full_after = UINT64_MAX;  // commits until the disk is full
    std::function<void()> meanwhile{};      // called during each write
  };

  CrashingStore(std::shared_ptr<StateStore> store, std::shared_ptr<Power> power)
      : ForwardingStore(std::move(store)), power_(std::move(power)) {}

  Status Commit(std::span<const RunChange* const> changes,
                std::span<const TenantDocument* const> documents) override {
    if (power_->meanwhile) power_->meanwhile();
    if (power_->failed) return Error{ErrorCode::kStoreStopped, "the power is off", {}};
    if (power_->full_after == 0) return Error{ErrorCode::kStoreFull, "no space", {}};
    --power_->full_after;
    power_->failed = power_->fails_after == 0;
    if (power_->failed && !power_->last_is_written) return Lost();
    const Status written = ForwardingStore::Commit(changes, documents);
    if (written) ++power_->commits;
    if (power_->failed) return Lost();
    --power_->fails_after;
    return written;
  }

 private:
  static Error Lost() { return {ErrorCode::kIndeterminate, "the power failed", {}}; }

  std::shared_ptr<Power> power_;
};

}  // namespace everstep
