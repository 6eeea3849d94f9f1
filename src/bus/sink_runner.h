#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "bus/sink_pump.h"
#include "engine/embedded_log.h"

namespace everstep {

// Runs a sink's pump on its own thread, woken by commits, by the sink and by timers.
class SinkRunner {
 public:
  struct Parts {
    EmbeddedLog& log;
    Clock& clock;
    Random& random;
    KeepPayload keep_payload;
    std::function<void(const Alert&)> on_alert;
  };
  SinkRunner(Parts parts, std::unique_ptr<Sink> sink, SinkMark mark,
             const SinkDefinition& definition);
  // Waits until the sink has ended its deliveries in flight, then persists the position.
  ~SinkRunner();

  SinkProgress progress() const { return pump_.progress(); }
  Status Begin(Replay replay);
  Status Purge(std::vector<std::pair<RunId, EventSeq>> letters);

 private:
  void Loop();
  void Wake();
  Status Do(const std::function<Status()>& order);
  void Wait(const SinkPump::Next& next, std::uint64_t seen);

  const Parts parts_;
  CommitFeed::Watch watch_;
  std::unique_ptr<Sink> sink_;
  SinkPump pump_;

  std::mutex mutex_;
  std::condition_variable woken_;
  bool is_woken_ = false;  // guarded by mutex_, as the next two
  bool stop_ = false;
  std::vector<std::function<void()>> orders_;
  std::thread thread_;
};

}  // namespace everstep
