#pragma once

#include <cstdint>
#include <string>

#include "base/timestamp.h"

namespace everstep {

// The caller, and what every answer depends on.
struct WorldCaller {
  std::string tenant_id;
  std::uint32_t spec = 0;  // the newest run version that the application understands
  Timestamp now{};
  std::string queue_namespace{};  // part of the names of its queues
  class AttributeCache* attributes = nullptr;
};

}  // namespace everstep
