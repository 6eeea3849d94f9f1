#include <algorithm>
#include <cmath>

#include "flow/plan.h"

namespace everstep {

// The delay starts at initial_delay, grows by the backoff (kNone: it stays constant) and is capped
// at max_delay. Jitter only shortens it, so that no delay is longer than the plan says.
Milliseconds RetryPolicy::DelayBefore(std::uint32_t next, double random) const {
  if (next < 2) return Milliseconds(0);
  const double step = next - 2;
  double factor = 1;
  if (backoff == Backoff::kLinear) factor = step + 1;
  if (backoff == Backoff::kExponential) factor = std::exp2(std::min(step, 62.0));
  const double grown = static_cast<double>(initial_delay.count()) * factor;
  const double delay = std::min(grown, static_cast<double>(max_delay.count()));
  const double share = std::clamp(jitter, 0.0, 1.0) * std::clamp(random, 0.0, 1.0);
  return Milliseconds(std::llround(std::max(0.0, delay * (1 - share))));
}

}  // namespace everstep
