#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "engine/committer.h"

namespace everstep {

// Which stream.
struct StreamName {
  std::string tenant_id;
  std::string run_id;  // need not be there
  std::string name;

  auto operator<=>(const StreamName&) const = default;
};

struct StreamExtent {
  std::uint64_t chunks = 0;
  bool closed = false;

  bool operator==(const StreamExtent&) const = default;
};

struct StreamPage {
  std::uint64_t first = 0;  // index of the first of them
  std::vector<std::string> chunks;
  StreamExtent info;  // of the same moment
};

// Ordered chunks that runs produce while they run: appended once and durable when acknowledged,
// read from any index, followed while they grow, closed by the writer. A stream begins to exist
// with its first chunk; who reads earlier waits. Streams go with their run; one without a run goes
// a day after it began. Thread-safe.
class RunStreams {
 public:
  static constexpr std::size_t kChunkBytesMax = 4 << 20;
  static constexpr std::size_t kWaitersMax = 100'000;
  static constexpr std::chrono::hours kLifeWithoutRun{24};

  RunStreams(StateStore& store, Committer& committer, Clock& clock);
  // Whoever waits is answered.
  ~RunStreams();

  // Behind what is there. What comes after the close is left out, and so is a repetition: one of
  // the stream's last requests had the same id. kInvalidArgument.
  Status Append(const StreamName& stream, std::vector<std::string> chunks,
                std::string request_id = {});
  Status Close(const StreamName& stream);
  Result<StreamExtent> Extent(const StreamName& stream);
  // Up to `limit` chunks from an index on, of at most `bytes_max` together, but one at least.
  Result<StreamPage> Read(const StreamName& stream, std::uint64_t from, std::size_t limit,
                          std::size_t bytes_max);
  // The names of the run's streams, in order.
  Result<std::vector<std::string>> List(const std::string& tenant_id, const std::string& run_id);

  // Removes those whose life without a run is over. A thread of its own does it every hour.
  Status Sweep();

  // Calls `ready` once: when there is a chunk at `from`, the stream is closed, or the time is over.
  // At once, from this thread, if that is so now; else from another. False: too many wait.
  bool WhenGrown(const StreamName& stream, std::uint64_t from, std::chrono::milliseconds wait,
                 std::function<void()> ready);
  // Nobody waits any more.
  void ReleaseAll();

 private:
  struct Stream {
    std::mutex writing;   // held while an append is on its way, so that chunks keep their order
    bool loaded = false;  // guarded by writing, as the next two
    StreamExtent info;
    std::deque<std::string> requests;  // the last ones, oldest first
  };
  struct Waiter {
    std::uint64_t from;
    std::chrono::steady_clock::time_point until;
    std::function<void()> ready;
  };

  std::shared_ptr<Stream> Find(const StreamName& name);
  Result<bool> HasRun(const StreamName& name);
  Status Remove(const StreamName& name);
  Status LoadLocked(const StreamName& name, Stream& stream);
  struct Order {
    std::vector<std::string> chunks;
    std::string request_id;
    bool close = false;
  };
  Status Write(const StreamName& name, Order order);
  void Wake(const StreamName& name, const StreamExtent& info);
  void WatchTime();

  StateStore& store_;
  Committer& committer_;
  Clock& clock_;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::map<StreamName, std::shared_ptr<Stream>> streams_;  // guarded by mutex_, as all below
  std::multimap<StreamName, Waiter> waiters_;
  std::chrono::steady_clock::time_point look_at_;  // when the thread looks again
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace everstep
