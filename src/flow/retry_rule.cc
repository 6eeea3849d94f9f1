#include <algorithm>
#include <cmath>

#include "flow/activity_spec.h"

namespace everstep {

Milliseconds RetryRule::DelayBefore(std::uint32_t retry, double random) const {
  if (retry == 0) return Milliseconds(0);
  const double step = retry - 1;
  double factor = 1;
  if (backoff == Backoff::kLinear) factor = step + 1;
  if (backoff == Backoff::kExponential) factor = std::min(std::pow(rate, step), 0x1p62);
  const double grown = static_cast<double>(initial_delay.count()) * factor;
  const double delay = std::min(grown, static_cast<double>(max_delay.count()));
  const double share = std::clamp(jitter, 0.0, 1.0) * std::clamp(random, 0.0, 1.0);
  return Milliseconds(std::llround(std::max(0.0, delay * (1 - share))));
}

}  // namespace everstep
