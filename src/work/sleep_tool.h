#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "work/tool_port.h"

namespace everstep {

// Waits for inputs.duration. All calls share one thread. For a wait that must survive a restart,
// plans use waitFor instead.
class SleepTool final : public Tool {
 public:
  SleepTool();
  ~SleepTool() override;

  std::string_view kind() const override { return "sleep"; }
  std::uint32_t slots() const override { return 0; }
  void Start(ToolCall call, Done done) override;
  void Cancel(CallId call, bool force) override;

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Sleeper {
    CallId call;
    Milliseconds duration;
    Done done;
  };

  void Loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<Time, Sleeper> sleepers_;
  std::unordered_map<CallId, std::multimap<Time, Sleeper>::iterator> by_call_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace everstep
