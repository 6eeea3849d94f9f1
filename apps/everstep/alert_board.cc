#include "alert_board.h"

#include <algorithm>

#include "look.h"

namespace everstep::cli {

void AlertBoard::Raise(const Alert& alert) {
  const std::lock_guard lock(mutex_);
  alerts_.push_back(alert);
  ++raised_;
  if (alerts_.size() > kAlertsMax) alerts_.pop_front();
}

std::vector<Alert> AlertBoard::Since(std::uint64_t& seen) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t fresh = std::min<std::uint64_t>(raised_ - seen, alerts_.size());
  seen = raised_;
  return {alerts_.end() - static_cast<std::ptrdiff_t>(fresh), alerts_.end()};
}

std::string AlertText(const Alert& alert) {
  std::string text = "alert " + alert.severity + " " + alert.code;
  if (!alert.run_id.empty()) text += ", run " + alert.run_id;
  return Printable(text + ": " + alert.detail);
}

}  // namespace everstep::cli
