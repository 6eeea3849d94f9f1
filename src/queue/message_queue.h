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

// How a delivery ended.
struct DeliveryOutcome {
  enum class Kind : std::uint8_t {
    kDone,      // the message is done with
    kAgain,     // it wants the same message again, after a while
    kFailed,    // it was taken and came to nothing
    kBroken,    // the connection broke: it may have been taken
    kNotTaken,  // nobody is there
  };
  Kind kind = Kind::kDone;
  std::chrono::milliseconds after{0};  // of kAgain
  std::string error{};                 // of the failures
};

// Carries messages to endpoints. `done` is called once, from any thread.
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
  std::uint32_t attempts_max = 64;  // failures before a message is given up
  std::chrono::milliseconds retry_first{1'000};
  std::chrono::milliseconds retry_most{60'000};
  std::chrono::milliseconds retry_broken_most{8'000};  // after a connection that broke
  std::chrono::milliseconds wake_most{3'600'000};      // between messages that wake a group in vain
  std::chrono::milliseconds endpoint_lease{30'000};    // without a word an endpoint is dropped
  std::size_t messages_max = 1'000'000;
  std::size_t endpoints_max = 10'000;
  std::uint32_t tenant_share = SharedLimit::kPercent;  // of messages_max and endpoints_max
  std::size_t body_bytes_max = 16 << 20;
};

// A durable queue with push delivery: at least once, in order of their due times, each message
// under one id for all its deliveries. What is acknowledged is durable; a message leaves the store
// when an endpoint has said that it is done with.
//
// An index entry of every message is in memory, its content is not. Thread-safe.
class MessageQueue {
 public:
  using Options = MessageQueueOptions;
  struct Parts {
    StateStore& store;
    Committer& committer;
    Clock& clock;
    Random& random;
    MessageCourier& courier;
    // Whether messages of a group have to wait (its run is paused). Asked before each delivery.
    std::function<bool(const std::string& tenant_id, const std::string& group)> is_held;
    // Whether a group is over for good (its run was removed). Asked when the store is opened.
    std::function<bool(const std::string& group)> is_gone;
    // What lets a group go on whose last message is done with (`has_later`: but for some that are
    // due much later), though it is not over; nothing: it may rest. Its tenant, group and key are
    // set here, and its id is a new one if there is a message with it. Asked under the queue's
    // lock.
    std::function<std::optional<NewMessage>(const std::string& tenant_id, const std::string& group,
                                            bool has_later)>
        wake = {};
  };

  // Reads what the store has, and drops messages of groups that are gone; nothing is delivered
  // before Start. A message that was due counts as attempted once more: its delivery may have been
  // under way when the last process ended, and attempt 1 promises that there was none. The count is
  // only stored with the next outcome, so that stops in a row count once and never use it up.
  static Result<std::unique_ptr<MessageQueue>> Open(Parts parts, Options options);
  ~MessageQueue();

  // Delivers on a thread of its own.
  void Start();
  // Without one: all that can be done now. False: there was nothing.
  bool Turn();
  // Begins no more deliveries. Those under way are delivered again by the next process, as further
  // attempts.
  void Stop();

  // Messages of one tenant. One id for each; durable on return. A message with a key that is held
  // is not a new one. kInvalidArgument, kAdmissionRejected (the queue is full, or the tenant has
  // its share of it): no message was taken.
  Result<std::vector<std::string>> Send(std::vector<NewMessage> messages);

  // Messages of the topics go there from now on, until it is silent for a lease or nobody answers.
  // Again with the same id: it is still there. kAdmissionRejected: there are too many.
  Status Register(Endpoint endpoint);
  void Unregister(const std::string& tenant_id, const std::string& id);
  // Groups that were held may have been released.
  void LookAgain();

  struct Seen {
    MessageHead head;
    bool under_way = false;
  };
  // Of a tenant, in order of their ids, behind `after`.
  std::vector<Seen> List(const std::string& tenant_id, const std::string& after, std::size_t limit,
                         bool dead_only);
  struct Counts {
    std::size_t waiting = 0;
    std::size_t under_way = 0;
    std::size_t dead = 0;
    std::size_t endpoints = 0;
  };
  Counts CountAll();
  // A message that was given up is delivered again, from its second attempt on. False: there is
  // none.
  Result<bool> Replay(const std::string& tenant_id, const std::string& id);
  // Takes it out for good. False: there is none, or it is under way.
  Result<bool> Remove(const std::string& tenant_id, const std::string& id);

 private:
  enum class State : std::uint8_t { kWriting, kWaiting, kReady, kBehind, kHeld, kUnderWay, kDead };
  struct Entry {
    MessageHead head;
    State state = State::kWriting;
    std::string endpoint;  // of a delivery under way: its place in endpoints_
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
  // mutex_ held for each of these.
  void WakeLocked();
  void TakeEnded();
  void Settle(Entry& entry, const DeliveryOutcome& outcome);
  void WakeDue(Timestamp now);
  void Place(Entry& entry);  // by its due time
  void MakeReady(Entry& entry);
  void FreeGroup(const Entry& entry);
  Entry& Keep(MessageHead head);
  void Forget(const std::string& id);
  // `done` was of the group, and is out of the queue: the group must not be forgotten with it.
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
  UlidGenerator ulids_;  // guarded by mutex_, as all below
  std::map<std::string, Entry> messages_;
  std::unordered_map<std::string, std::string> keys_;       // to the message's id
  std::unordered_map<std::string, std::size_t> by_tenant_;  // how many messages
  std::map<Group, std::set<std::string>> members_;          // ids of messages that have a group
  std::set<std::pair<Timestamp, std::string>> due_;
  std::map<Topic, std::deque<std::string>> ready_;
  struct GroupState {
    bool busy = false;
    std::deque<std::string> behind;
  };
  std::map<Group, GroupState> groups_;  // with a message under way
  std::map<Group, std::deque<std::string>> held_;
  std::map<std::string, Live> endpoints_;  // by tenant NUL id
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
