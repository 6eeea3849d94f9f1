#pragma once

#include <string>

namespace everstep {

class Api;

// All metrics in the text format of Prometheus. No label has more values than there are operations,
// statuses and sinks. Sinks are those of the tenant; with an empty one, all, the server's too.
std::string MetricsText(Api& api, const std::string& tenant_id);

}  // namespace everstep
