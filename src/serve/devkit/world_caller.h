#pragma once

#include <cstdint>
#include <string>

#include "base/timestamp.h"

namespace everstep {

// Who asks, and what every answer needs to know.
struct WorldCaller {
  std::string tenant_id;
  std::uint32_t spec = 0;  // the newest version of runs that the application understands
  Timestamp now{};
  std::string queue_namespace{};  // of the names of its queues
  class AttributeCache* attributes = nullptr;
};

}  // namespace everstep
