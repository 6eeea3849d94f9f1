#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "engine/embedded_log.h"
#include "engine/event_view.h"
#include "net/http_server.h"
#include "serve/fair_threads.h"
#include "serve/party_shares.h"

namespace everstep {

// What a client wants to follow.
struct FollowRequest {
  RunsOf runs;              // all of one tenant
  std::string run_id;       // empty: all of `runs`
  std::uint64_t after = 0;  // a runSeq; without run_id, a position in commit order
  Dialect dialect = Dialect::kNative;
  std::string event_type;  // native name; empty: all
};

// Sends events to followers as server-sent events: "id:" is where to resume, "event:" the native
// type, "data:" the event in the requested dialect.
//
// Buffers no events: new ones are read from the store once the connection has drained what was sent
// before, so a slow follower costs no memory and misses nothing. The streams of a run end when the
// run ends. Tenants take turns of a bounded number of events; one thread is left to those that have
// no turn under way. Thread-safe.
class Followers final : private CommitFeed::Listener {
 public:
  static constexpr std::chrono::seconds kBeatEvery{15};

  explicit Followers(EmbeddedLog& log);
  // Ends all streams.
  ~Followers() override;

  // `share` is a share of the tenant's stream limit; released when the stream ends.
  void Add(FollowRequest request, std::shared_ptr<ReplyStream> stream, PartyShares::Share share);
  std::size_t size();
  // How many commits the slowest follower of a whole tenant is behind.
  std::uint64_t lag();

 private:
  using Id = std::uint64_t;
  struct Follower {
    FollowRequest request;
    std::shared_ptr<ReplyStream> stream;
    PartyShares::Share share;
    bool has_turn = false;               // queued or under way; guarded by mutex_
    bool is_due = false;                 // again after its turn; guarded by mutex_
    std::atomic<std::uint64_t> sent{0};  // without run_id: sent up to this position
  };
  enum class Next : std::uint8_t { kWait, kMore, kOver };

  void Durable(std::span<const std::shared_ptr<CommitUnit>> units) override;
  void Loop();
  void WakeFollowers(std::unique_lock<std::mutex>& lock);
  void Due(Id id);                        // mutex_ held
  void Queue(Id id, Follower& follower);  // mutex_ held
  void TakeTurn(Id id);
  void Remove(Id id);  // mutex_ held
  void Beat(std::unique_lock<std::mutex>& lock);

  Next Serve(Follower& follower);
  Next ServeRun(Follower& follower);
  Next ServeTenant(Follower& follower);

  EmbeddedLog& log_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool stop_ = false;  // guarded by mutex_, like all below
  Id last_id_ = 0;
  std::unordered_map<Id, std::shared_ptr<Follower>> followers_;
  std::unordered_map<std::string, std::set<Id>> by_run_;
  std::unordered_map<std::string, std::set<Id>> by_tenant_;
  std::set<std::string> grown_runs_;  // that have new events; only those that are followed
  std::set<std::string> grown_tenants_;
  std::thread thread_;   // wakes followers and keeps connections alive
  FairThreads threads_;  // serve followers
};

}  // namespace everstep
