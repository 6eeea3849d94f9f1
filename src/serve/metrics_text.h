#pragma once

#include <string>

namespace everstep {

class Api;

// All metrics in the text format of Prometheus. No label has more values than there are operations,
// statuses and queues.
std::string MetricsText(Api& api);

}  // namespace everstep
