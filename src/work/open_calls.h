#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "work/stop_request.h"
#include "work/tool_port.h"

namespace everstep {

// The open calls of a tool and their stop requests. Thread-safe.
class OpenCalls {
 public:
  std::shared_ptr<StopRequest> Open(CallId call) {
    auto stop = std::make_shared<StopRequest>();
    const std::lock_guard lock(mutex_);
    if (closing_) stop->Ask(true);
    calls_.emplace(call, stop);
    return stop;
  }
  void Close(CallId call) {
    const std::lock_guard lock(mutex_);
    calls_.erase(call);
  }
  void Cancel(CallId call, bool force) {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(call);
    if (found != calls_.end()) found->second->Ask(force);
  }
  // Also stops calls that are opened later.
  void StopAll() {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    for (const auto& [call, stop] : calls_) stop->Ask(true);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<CallId, std::shared_ptr<StopRequest>> calls_;
  bool closing_ = false;
};

}  // namespace everstep
