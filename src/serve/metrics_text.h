#pragma once

#include <string>

namespace everstep {

class Api;

// Returns metrics in the Prometheus text format. They are those of a tenant's sinks; if `tenant_id`
// is empty, those of all sinks, including the server's, and the totals over all tenants. Label
// cardinality is bounded by the number of operations, statuses and sinks.
std::string MetricsText(Api& api, const std::string& tenant_id);

}  // namespace everstep
