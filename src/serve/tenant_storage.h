#pragma once

#include <cstdint>
#include <string>

#include "everstep/result.h"
#include "store/state_store.h"

namespace everstep {

// Limits how much disk each tenant may use for its events, documents and uploads. Reads a counter
// that the store maintains. Thread-safe.
class TenantStorage {
 public:
  // `bytes_max` zero means no limit.
  TenantStorage(StateStore& store, std::uint64_t bytes_max)
      : store_(store), bytes_max_(bytes_max) {}

  // Returns kTenantFull if `more` bytes on top of what the tenant has stored would exceed the
  // limit.
  Status Check(const std::string& tenant_id, std::uint64_t more = 0);

 private:
  StateStore& store_;
  const std::uint64_t bytes_max_;
};

}  // namespace everstep
