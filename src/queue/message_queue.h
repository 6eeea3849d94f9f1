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
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/shared_limit.h"
#include "base/ulid.h"
#include "engine/committer.h"
#include "queue/endpoint.h"
#include "queue/message.h"

namespace everstep {

// The outcome of a delivery.
struct DeliveryOutcome {
  enum class Kind : std::uint8_t {
    kDone,      // the message was processed
    kAgain,     // the endpoint wants the same message again after some time
    kFailed,    // the endpoint received the message and failed
    kBroken,    // the connection broke; the endpoint may have received the message
    kNotTaken,  // the endpoint was unreachable
  };
  Kind kind = Kind::kDone;
  std::chrono::milliseconds after{0};  // for kAgain
  std::string error{};                 // for failures
};

// Delivers messages to endpoints. `done` is called exactly once, on any thread.
class MessageCourier {
 public:
  virtual ~MessageCourier() = default;
  struct Delivery {
    MessageHead head;
    MessageContent content;
    std::string url;
    std::string secret;
    bool on_this_machine = false;
  };
  virtual void Deliver(Delivery delivery, std::function<void(DeliveryOutcome)> done) = 0;
};

struct MessageQueueOptions {
  std::uint32_t attempts_max = 64;  // attempts before a message is given up
  std::chrono::milliseconds retry_first{1'000};
  std::chrono::milliseconds retry_most{60'000};
  std::chrono::milliseconds retry_broken_most{8'000};  // after a broken connection
  std::chrono::milliseconds wake_most{3'600'000};      // between unsuccessful wake messages
  std::chrono::milliseconds endpoint_lease{30'000};    // silent endpoints are dropped after this
  std::size_t messages_max = 1'000'000;
  std::size_t endpoints_max = 10'000;
  std::uint32_t tenant_share = SharedLimit::kPercent;  // of messages_max and endpoints_max
  std::size_t body_bytes_max = 16 << 20;
};

// A durable queue with push delivery. Messages are delivered at least once, in order of due time,
// and with the same id in all deliveries. Acknowledged messages are durable. A message is removed
// from the store after an endpoint has reported that it is done.
//
// Keeps an index entry of every message in memory, but not the content. Thread-safe.
class MessageQueue {
 public:
  using Options = MessageQueueOptions;
  struct Parts {
    StateStore& store;
    Committer& committer;
    Clock& clock;
    Random& random;
    MessageCourier& courier;
    // Whether the messages of a group must wait because its run is paused. Called before each
    // delivery.
    std::function<bool(const std::string& tenant_id, const std::string& group)> is_held;
    // Whether a group has ended because its run was removed. Called by Open.
    std::function<bool(const std::string& group)> is_gone;
    // Returns a message that wakes a group whose last message is done although the group has not
    // ended, or nullopt if none is needed. `has_later`: the group still has messages, but they are
    // due much later. The queue sets tenant, group and key of the message, and generates an id if a
    // message with its id exists. Called with the queue's lock held.
    std::function<std::optional<NewMessage>(const std::string& tenant_id, const std::string& group,
                                            bool has_later)>
        wake = {};
  };

  // Loads the queue from the store and drops messages of removed groups. Nothing is delivered
  // before Start. The attempt of each message that was due is incremented: its delivery may have
  // been in flight when the last process ended, and attempt 1 guarantees that there was none. The
  // new count is only stored with the next outcome, so that repeated restarts count once and cannot
  // exhaust the attempts.
  static Result<std::unique_ptr<MessageQueue>> Open(Parts parts, Options options);
  ~MessageQueue();

  // Starts a thread that delivers.
  void Start();
  // Without Start: does all work that is possible now. Returns false if there was none.
  bool Turn();
  // Starts no more deliveries and joins the thread. The next process repeats the deliveries that
  // are in flight, as new attempts.
  void Stop();

  // Sends messages of one tenant. On success they are durable, and the ids of all are returned. For
  // a message whose key or id is already in the queue, the id of the queued message is returned.
  // Returns kInvalidArgument, or kAdmissionRejected if the queue is full or the tenant has reached
  // its share; no message is accepted then.
  Result<std::vector<std::string>> Send(std::vector<NewMessage> messages);

  // Delivers messages of its topics to the endpoint from now on, until it is silent for
  // endpoint_lease or unreachable. Registering the same id again renews the lease. Returns
  // kAdmissionRejected if there are too many endpoints.
  Status Register(Endpoint endpoint);
  void Unregister(const std::string& tenant_id, const std::string& id);
  // Notifies the queue that held groups may have been released.
  void LookAgain();

  struct Seen {
    MessageHead head;
    bool under_way = false;
  };
  // Lists the messages of a tenant whose ids are greater than `after`, ordered by id.
  std::vector<Seen> List(const std::string& tenant_id, const std::string& after, std::size_t limit,
                         bool dead_only);
  struct Counts {
    std::size_t waiting = 0;
    std::size_t under_way = 0;
    std::size_t dead = 0;
    std::size_t endpoints = 0;
  };
  Counts CountAll();
  // Delivers a dead message again, starting with attempt 2. Returns false if there is no such dead
  // message.
  Result<bool> Replay(const std::string& tenant_id, const std::string& id);
  // Removes a dead message. Returns false if there is no such dead message.
  Result<bool> Remove(const std::string& tenant_id, const std::string& id);

 private:
  enum class State : std::uint8_t { kWriting, kWaiting, kReady, kBehind, kHeld, kUnderWay, kDead };
  struct Entry {
    MessageHead head;
    State state = State::kWriting;
    std::string endpoint;  // its key in endpoints_, while a delivery is in flight
  };
  struct Live {
    Endpoint endpoint;
    std::uint32_t under_way = 0;
    std::chrono::steady_clock::time_point heard;
  };
  struct Ended {
    std::string id;
    DeliveryOutcome outcome;
  };
  using Topic = std::pair<std::string, std::string>;  // tenant, topic
  using Group = std::pair<std::string, std::string>;  // tenant, group

  MessageQueue(Parts parts, Options options);
  Status Load();

  void Loop();
  // The functions below must be called with mutex_ held.
  void WakeLocked();
  void TakeEnded();
  void Settle(Entry& entry, const DeliveryOutcome& outcome);
  void WakeDue(Timestamp now);
  void Place(Entry& entry);  // by its due time
  void MakeReady(Entry& entry);
  void FreeGroup(const Entry& entry);
  Entry& Keep(MessageHead head);
  void Forget(const std::string& id);
  // Called after `done` was removed from the queue. Adds a message that wakes its group, if needed.
  void WakeIdleGroup(const MessageHead& done);
  void DropSilent();
  void Dispatch();
  bool DispatchOne(const Topic& topic, std::deque<std::string>& ready);
  Live* FindPlace(const Topic& topic);
  void Launch(Entry& entry, Live& live);
  static std::string KeyOf(const MessageHead& head);
  Status CheckRoom(const std::vector<NewMessage>& messages) const;
  Status CheckRoom(const Endpoint& endpoint) const;

  const Parts parts_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::condition_variable settled_;
  UlidGenerator ulids_;  // mutex_ guards this and all members below
  std::map<std::string, Entry> messages_;
  std::unordered_map<std::string, std::string> keys_;       // message ids by key
  std::unordered_map<std::string, std::size_t> by_tenant_;  // message counts
  std::map<Group, std::set<std::string>> members_;          // message ids by group
  std::set<std::pair<Timestamp, std::string>> due_;
  std::map<Topic, std::deque<std::string>> ready_;
  struct GroupState {
    bool busy = false;
    std::deque<std::string> behind;
  };
  std::map<Group, GroupState> groups_;  // groups with a delivery in flight or messages behind it
  std::map<Group, std::deque<std::string>> held_;
  std::map<std::string, Live> endpoints_;  // by EndpointPlace
  std::vector<Ended> ended_;
  std::vector<TenantDocument> dirty_;  // to be written
  std::vector<MessageCourier::Delivery> outgoing_;
  std::chrono::steady_clock::time_point look_held_;
  std::size_t under_way_ = 0;
  std::size_t dead_ = 0;
  bool look_again_ = false;
  bool woken_again_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace everstep
