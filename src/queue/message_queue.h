#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/shared_limit.h"
#include "base/ulid.h"
#include "engine/committer.h"
#include "queue/endpoint.h"
#include "queue/message.h"
#include "queue/tenant_queue.h"

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
  std::size_t deliveries_max = 4'096;                  // in flight; further messages wait
  std::size_t delivery_bytes_max = 256 << 20;          // contents of the deliveries in flight
  std::uint32_t tenant_share = SharedLimit::kPercent;  // of the four limits above
  std::size_t body_bytes_max = 16 << 20;
};

// A durable queue with push delivery. Messages are delivered at least once, in order of due time,
// and with the same id in all deliveries. Acknowledged messages are durable. A message is removed
// from the store after an endpoint has reported that it is done.
//
// Keeps an index entry of every message in memory, but the content only during a delivery. Tenants
// share the limits of the options, of which each has a share, and the lock, which nobody holds for
// longer than a bounded amount of work. Thread-safe.
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
    std::function<bool(const std::string& tenant_id, const std::string& group)> is_gone;
    // Returns a message that wakes a group whose last message is done although the group has not
    // ended, or nullopt if none is needed. `has_later`: the group still has messages, but they are
    // due much later. The queue sets tenant, group and key of the message, and generates an id if a
    // message with its id exists. May take its time: the queue's lock is not held.
    std::function<std::optional<NewMessage>(const std::string& tenant_id, const std::string& group,
                                            bool has_later)>
        wake = {};
  };

  // Loads the queue from the store and drops messages that were removed with their run. Nothing is
  // delivered before Start. The attempt of each message that was due is incremented: its delivery
  // may have been in flight when the last process ended, and attempt 1 guarantees that there was
  // none. The new count is only stored with the next outcome, so that repeated restarts count once
  // and cannot exhaust the attempts.
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
  // its share; no message is accepted then. A message with long names counts as several (WeightOf).
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
  using State = QueuedMessage::State;
  using Group = std::pair<std::string, std::string>;  // tenant, group
  // A tenant with messages or endpoints.
  struct Tenant {
    explicit Tenant(std::string id) : queue(std::move(id)) {}
    TenantQueue queue;
    std::optional<Timestamp> due;  // its place in due_
    bool has_turn = false;         // it is in turns_ or full_
    std::size_t under_way = 0;     // deliveries, and the bytes of their contents
    std::size_t under_way_bytes = 0;
  };
  struct Launched {
    MessageHead head;
    std::string url;
    std::string secret;
    bool on_this_machine = false;
    std::size_t content_bytes = 0;  // as assumed
  };
  struct Idle {  // a group whose last message is done
    MessageHead done;
    bool has_later = false;
  };
  struct Ended {
    std::string tenant_id;
    std::string id;
    DeliveryOutcome outcome;
  };
  using HeardAt = std::pair<std::chrono::steady_clock::time_point, std::string>;  // and its place

  MessageQueue(Parts parts, Options options);
  Status Load();
  bool LoadEndpoint(const TenantDocument& row);
  bool LoadMessage(const TenantDocument& row, Timestamp now);

  void Loop();
  void Deliver(Launched launched);
  // Corrects what was assumed about a delivery in flight.
  void Measure(const MessageHead& head, std::size_t content_bytes);
  void WakeIdleGroups();
  // The functions below must be called with mutex_ held.
  void WakeLocked();
  bool HasWork(Timestamp now) const;
  Tenant& TenantOf(const std::string& tenant_id);
  TenantQueue* FindTenant(const std::string& tenant_id);
  // Whether the limits allow the tenant another delivery.
  bool HasRoom(const Tenant& tenant) const;
  void CountDelivery(const QueuedMessage& message, bool begins);
  // Must be called after room was freed.
  void LookForRoom();
  // Must be called after every change of a tenant's queue. Forgets a tenant that has nothing left.
  void File(const std::string& tenant_id);
  // The same after messages that were being written have been placed or forgotten.
  void Written(const std::string& tenant_id);
  QueuedMessage* FindDead(const std::string& tenant_id, const std::string& id);
  QueuedMessage& Keep(MessageHead head);
  void Forget(QueuedMessage& message);
  // A turn is bounded: each of these does a part of its work if there is much.
  void TakeEnded();
  void WakeDue(Timestamp now);
  void LookAtHeld();
  void DropSilent();
  void Dispatch();
  void TakeTurn(Tenant& tenant, std::size_t& steps, std::size_t& bytes);
  // Return the bytes of the content to be delivered; zero: the message waits.
  std::size_t DispatchOne(TenantQueue& queue, const TenantQueue::Match& match);
  std::size_t Launch(TenantQueue& queue, const TenantQueue::Match& match);
  void Settle(TenantQueue& queue, QueuedMessage& message, const DeliveryOutcome& outcome);
  void SettleEndpoint(TenantQueue& queue, const std::string& id, DeliveryOutcome::Kind kind);
  static void FreeGroup(TenantQueue& queue, const QueuedMessage& message);
  // Called after `done` was removed from the queue. Returns whether its group may have stalled.
  std::optional<Idle> FindIdleGroup(TenantQueue& queue, const MessageHead& done);
  // Replaces a wake message of the group that is due much later.
  void AddWake(TenantQueue& queue, const MessageHead& done, NewMessage message);
  void Hear(TenantQueue& queue, LiveEndpoint& live);
  void DropIfSilent(TenantQueue& queue, LiveEndpoint& live);
  void DropEndpoint(TenantQueue& queue, const std::string& id);
  Status CheckRoom(const std::string& tenant_id, std::size_t weight) const;
  Status CheckRoom(const TenantQueue& queue) const;

  const Parts parts_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::condition_variable settled_;
  UlidGenerator ulids_;  // mutex_ guards this and all members below
  std::map<std::string, Tenant> tenants_;
  std::set<std::pair<Timestamp, Tenant*>> due_;  // by their next due time
  std::deque<Tenant*> turns_;                    // those that may have a match, in turn
  std::deque<Tenant*> full_;                     // likewise, until a delivery ends: no room
  std::set<Group> held_;                         // groups with held messages
  std::optional<Group> held_next_;               // where the look at held groups goes on
  std::set<HeardAt> heard_;                      // endpoints that are not silent
  std::deque<Ended> ended_;
  std::vector<TenantDocument> dirty_;  // to be written
  std::vector<Launched> launched_;
  std::vector<Idle> idle_;  // to be woken if they have stalled
  std::chrono::steady_clock::time_point look_held_;
  std::size_t messages_ = 0;
  std::size_t weight_ = 0;  // of the messages
  std::size_t endpoints_ = 0;
  std::size_t under_way_ = 0;
  std::size_t under_way_bytes_ = 0;
  std::size_t dead_ = 0;
  bool look_again_ = false;
  bool woken_again_ = false;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace everstep
