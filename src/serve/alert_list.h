#pragma once

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/timestamp.h"
#include "everstep/log.h"

namespace everstep {

struct RaisedAlert {
  Timestamp at{};
  Alert alert;
};

// The newest alerts of this process. Beyond kKept it drops the oldest alert of the tenant that has
// most, so that no tenant can push out the alerts of others. Thread-safe.
class AlertList {
 public:
  static constexpr std::size_t kKept = 1'000;

  void Add(const Alert& alert, Timestamp at) {
    const std::lock_guard lock(mutex_);
    alerts_.push_front({at, alert});
    ++counts_[alert.tenant_id];
    if (alerts_.size() > kKept) DropOne();
    ++total_;
  }
  // The newest first.
  std::vector<RaisedAlert> List() const {
    const std::lock_guard lock(mutex_);
    return {alerts_.begin(), alerts_.end()};
  }
  // The newest alert whose code has this prefix, unless it is older than `since`.
  std::optional<Alert> Newest(std::string_view code_prefix, Timestamp since) const {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(alerts_, [code_prefix](const RaisedAlert& raised) {
      return raised.alert.code.starts_with(code_prefix);
    });
    if (found == alerts_.end() || found->at < since) return std::nullopt;
    return found->alert;
  }
  std::uint64_t total() const {
    const std::lock_guard lock(mutex_);
    return total_;
  }

 private:
  void DropOne() {
    const auto most =
        std::ranges::max_element(counts_, {}, [](const auto& count) { return count.second; });
    const auto oldest = std::find_if(alerts_.rbegin(), alerts_.rend(), [&](const auto& raised) {
      return raised.alert.tenant_id == most->first;
    });
    alerts_.erase(std::next(oldest).base());
    if (--most->second == 0) counts_.erase(most);
  }

  mutable std::mutex mutex_;
  std::deque<RaisedAlert> alerts_;
  std::map<std::string, std::size_t> counts_;  // by tenant
  std::uint64_t total_ = 0;
};

}  // namespace everstep
