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
#include "serve/party_shares.h"

namespace everstep {

// What somebody wants to see as it happens.
struct FollowRequest {
  RunsOf runs;              // of one tenant
  std::string run_id;       // empty: all of these
  std::uint64_t after = 0;  // runSeq; of all runs the position in the order of commits
  Dialect dialect = Dialect::kNative;
  std::string event_type;  // native name; empty: all
};

// Sends events to those who follow, as server-sent events: "id:" is where to go on, "event:" the
// native type, "data:" the event in the dialect asked for.
//
// Holds no events: what is new is read from the store once the connection has taken what was sent
// before, so that a slow follower costs nothing and misses nothing. A run that has ended ends its
// streams. One thread serves all. Thread-safe.
class Followers final : private CommitFeed::Listener {
 public:
  static constexpr std::chrono::seconds kBeatEvery{15};

  explicit Followers(EmbeddedLog& log);
  // Ends all streams.
  ~Followers() override;

  // `share` is what the tenant may follow; given back when the stream is over.
  void Add(FollowRequest request, std::shared_ptr<ReplyStream> stream, PartyShares::Share share);
  std::size_t size();
  // How many commits of the log the slowest of those who follow a tenant has still to be sent.
  std::uint64_t lag();

 private:
  using Id = std::uint64_t;
  struct Follower {
    FollowRequest request;
    std::shared_ptr<ReplyStream> stream;
    PartyShares::Share share;
    bool is_due = false;                 // in due_; guarded by mutex_
    std::atomic<std::uint64_t> sent{0};  // of a tenant: up to this position
  };
  enum class Next : std::uint8_t { kWait, kMore, kOver };

  void Durable(std::span<const std::shared_ptr<CommitUnit>> units) override;
  void Loop();
  void Due(Id id);     // mutex_ held
  void Remove(Id id);  // mutex_ held
  void Beat(std::unique_lock<std::mutex>& lock);

  Next Serve(Follower& follower);
  Next ServeRun(Follower& follower);
  Next ServeTenant(Follower& follower);

  EmbeddedLog& log_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool stop_ = false;  // guarded by mutex_, as all below
  Id last_id_ = 0;
  std::unordered_map<Id, std::shared_ptr<Follower>> followers_;
  std::unordered_map<std::string, std::set<Id>> by_run_;
  std::unordered_map<std::string, std::set<Id>> by_tenant_;
  std::vector<Id> due_;
  std::thread thread_;
};

}  // namespace everstep
