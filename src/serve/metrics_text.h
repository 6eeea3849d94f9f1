#pragma once

#include <string>

namespace everstep {

class Api;

// Returns all metrics in the Prometheus text format. Label cardinality is bounded by the number of
// operations, statuses and sinks. Includes the sinks of the tenant; if empty, all sinks, including
// the server's.
std::string MetricsText(Api& api, const std::string& tenant_id);

}  // namespace everstep
