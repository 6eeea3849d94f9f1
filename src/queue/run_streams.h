#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/committer.h"

namespace everstep {

// Identifies a stream.
struct StreamName {
  std::string tenant_id;
  std::string run_id;  // the run need not exist
  std::string name;

  auto operator<=>(const StreamName&) const = default;
};

struct StreamExtent {
  std::uint64_t chunks = 0;
  bool closed = false;

  bool operator==(const StreamExtent&) const = default;
};

struct StreamPage {
  std::uint64_t first = 0;  // index of the first chunk
  std::vector<std::string> chunks;
  StreamExtent info;  // from the same snapshot
};

// Chunks to be appended to a stream. Nothing happens if the stream is closed, or if one of its last
// writes had the same non-empty request id.
struct StreamWrite {
  StreamName stream;
  std::vector<std::string> chunks{};
  std::string request_id{};
  bool close = false;  // after the chunks
};

// Ordered chunks that runs produce while they run. Chunks are appended exactly once and durable
// when acknowledged. They can be read from any index and followed while the stream grows, until the
// writer closes it. A stream is created by its first chunk; readers can wait for it before that.
// Streams are removed with their run; a stream without a run is removed a day after its creation.
// Thread-safe.
class RunStreams {
 public:
  static constexpr std::size_t kChunkBytesMax = 4 << 20;
  static constexpr std::size_t kChunksPerWriteMax = 10'000;
  static constexpr std::size_t kWaitersMax = 100'000;
  static constexpr std::chrono::hours kLifeWithoutRun{24};

  RunStreams(StateStore& store, Committer& committer, Clock& clock);
  // Calls `ready` of all waiting callers.
  ~RunStreams();

  // Carries out the writes in their order and makes them durable together. Returns one result per
  // write: kInvalidArgument for an invalid stream name, a chunk above kChunkBytesMax, more than
  // kChunksPerWriteMax chunks or a request id that is too long.
  std::vector<Status> Write(std::vector<StreamWrite> writes);
  // A single write.
  Status Append(const StreamName& stream, std::vector<std::string> chunks,
                std::string request_id = {});
  Status Close(const StreamName& stream);
  Result<StreamExtent> Extent(const StreamName& stream);
  // Reads up to `limit` chunks from index `from` with at most `bytes_max` bytes in total. Returns
  // at least one chunk, if there is one, even if it is larger.
  Result<StreamPage> Read(const StreamName& stream, std::uint64_t from, std::size_t limit,
                          std::size_t bytes_max);
  // Returns up to `limit` names of the run's streams that come after `after`, sorted.
  Result<std::vector<std::string>> List(const std::string& tenant_id, const std::string& run_id,
                                        const std::string& after, std::size_t limit);

  // Removes streams that have been without a run for kLifeWithoutRun. A background thread calls it
  // every hour.
  Status Sweep();

  // Calls `ready` once: as soon as there is a chunk at `from`, the stream is closed, `wait` is
  // over, or an error occurs. If that is already the case, calls it on this thread before
  // returning, otherwise on another thread, which it must not keep. Returns false, without calling
  // it, if too many callers wait or after EndWaits.
  bool WhenGrown(const StreamName& stream, std::uint64_t from, std::chrono::milliseconds wait,
                 std::function<void()> ready);
  // Calls `ready` of all waiting callers; from now on nobody may wait.
  void EndWaits();

 private:
  struct Stream {
    std::mutex writing;   // held during a write, so that chunks keep their order
    bool loaded = false;  // `writing` guards this and all below
    bool grown = false;   // by the group of writes that is being carried out
    StreamExtent info;
    std::deque<std::string> requests;  // ids of the last requests, oldest first
  };
  // Waiters of a stream, those for the earliest chunk first; each with a number of its own.
  using WaiterKey = std::tuple<StreamName, std::uint64_t, std::uint64_t>;
  struct Waiter {
    std::chrono::steady_clock::time_point until;
    std::function<void()> ready;
  };
  using Waiters = std::map<WaiterKey, Waiter>;
  using Opened = std::map<StreamName, std::shared_ptr<Stream>>;

  std::shared_ptr<Stream> Find(const StreamName& name);
  Result<bool> HasRun(const StreamName& name);
  Status Remove(const StreamName& name);
  Status LoadLocked(const StreamName& name, Stream& stream);
  Status WriteOne(StreamWrite write);
  void WriteGroup(std::span<StreamWrite> writes, std::span<Status> results);
  // Must be called with the stream's `writing` held. Adds the rows of the write.
  Status Plan(StreamWrite& write, Stream& stream, std::vector<TenantDocument>& rows);
  void Wake(const StreamName& name, const StreamExtent& info);
  // With mutex_ held. Moves `ready` of the waiter to `calls`. Returns the next waiter.
  Waiters::iterator Take(Waiters::iterator waiter, std::vector<std::function<void()>>& calls);
  void WatchTime();

  StateStore& store_;
  Committer& committer_;
  Clock& clock_;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::map<StreamName, std::shared_ptr<Stream>> streams_;  // mutex_ guards this and all below
  Waiters waiters_;
  std::set<std::pair<std::chrono::steady_clock::time_point, WaiterKey>> deadlines_;
  std::uint64_t last_waiter_ = 0;
  bool no_waits_ = false;
  std::chrono::steady_clock::time_point look_at_;  // when the thread wakes up
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace everstep
