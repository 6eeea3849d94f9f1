#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "queue/endpoint.h"
#include "queue/message.h"
#include "queue/topic_index.h"

namespace everstep {

// A message in the index.
struct QueuedMessage {
  enum class State : std::uint8_t { kWriting, kWaiting, kReady, kBehind, kHeld, kUnderWay, kDead };
  // Assumed for the content of a message from the store until it has been read.
  static constexpr std::size_t kBytesAssumed = 1 << 20;

  MessageHead head;
  std::size_t content_bytes = kBytesAssumed;
  State state = State::kWriting;
  std::uint64_t order = 0;  // in which it became ready
  std::string endpoint;     // its id, while a delivery is in flight
};

// A registered endpoint.
struct LiveEndpoint {
  Endpoint endpoint;
  std::uint32_t under_way = 0;
  std::chrono::steady_clock::time_point heard{};
  bool silent = false;       // for so long that it gets no deliveries
  bool listed = false;       // in TenantQueue::open_
  std::uint64_t routes = 0;  // hash of the routes
};

// The messages and endpoints of one tenant: which messages are due, which of those an endpoint can
// take, and which wait behind others of their group. Matching looks only at topics and endpoints
// that match; every call is O(log n) unless it says otherwise. Not thread-safe.
class TenantQueue {
 public:
  using State = QueuedMessage::State;
  struct Group {
    bool busy = false;                                    // a delivery is in flight
    std::deque<QueuedMessage*> behind;                    // wait for it
    std::deque<QueuedMessage*> held;                      // wait for the release of the group
    std::set<std::pair<Timestamp, std::string>> members;  // by due time
    std::size_t dead = 0;                                 // of the members
  };
  // A message, and the endpoint that takes it.
  struct Match {
    QueuedMessage* message = nullptr;  // null: none
    LiveEndpoint* endpoint = nullptr;
  };

  explicit TenantQueue(std::string tenant_id) : tenant_id_(std::move(tenant_id)) {}

  const std::string& tenant_id() const { return tenant_id_; }
  const std::map<std::string, QueuedMessage>& messages() const { return messages_; }
  const std::map<std::string, LiveEndpoint>& endpoints() const { return endpoints_; }
  const std::set<std::string>& dead() const { return dead_; }
  std::size_t weight() const { return weight_; }  // of all messages
  bool empty() const { return messages_.empty() && endpoints_.empty(); }

  // ---- messages
  QueuedMessage* Find(const std::string& id);
  // The message with the key, topic and group of `head`; null: there is none, or `head` has no key.
  QueuedMessage* FindKey(const MessageHead& head);
  // Adds a message that is being written.
  QueuedMessage& Add(MessageHead head);
  // Requires: it is not waiting, ready, behind or held.
  void Remove(QueuedMessage& message);
  // Changes what may change: due time, attempt, death and error. Requires as Remove.
  void Change(QueuedMessage& message, MessageHead head);
  // Files a message by its head: as dead, or waiting for its due time.
  void Place(QueuedMessage& message);
  // A dead message is about to be written again.
  void Revive(QueuedMessage& message);
  // A waiting message is about to be removed.
  void Withdraw(QueuedMessage& message);
  // Null if the message has no group.
  Group* GroupOf(const QueuedMessage& message);
  Group* FindGroup(const std::string& name);

  // ---- becoming ready
  std::optional<Timestamp> next_due() const;
  // Makes up to `count` messages ready that are due. Returns how many.
  std::size_t WakeDue(Timestamp now, std::size_t count);
  void MakeReady(QueuedMessage& message);
  // Makes up to `count` held messages of a group ready. Returns how many.
  std::size_t ReleaseGroup(Group& group, std::size_t count);

  // ---- endpoints
  LiveEndpoint* FindEndpoint(const std::string& id);
  // Another endpoint with the same routes; null: there is none. O(endpoints).
  const LiveEndpoint* FindDouble(const Endpoint& endpoint) const;
  LiveEndpoint& PutEndpoint(Endpoint endpoint);
  void RemoveEndpoint(const std::string& id);
  void SetUnderWay(LiveEndpoint& live, std::uint32_t under_way);
  void SetSilent(LiveEndpoint& live, bool silent);

  // ---- matching
  // There may be a match.
  bool has_work() const { return !hungry_.empty() || !fresh_.empty(); }
  // Takes the next message that an endpoint can take out of its topic. It is the oldest of those
  // that its endpoint accepts. Null: none that was looked at, and has_work says whether to go on.
  Match Next();

 private:
  using Topics = std::map<std::string, std::deque<QueuedMessage*>>;
  using OpenEndpoints = std::set<std::pair<std::uint32_t, std::string>>;  // under_way, id

  static std::string KeyOf(const MessageHead& head);
  LiveEndpoint* EndpointFor(std::string_view topic);
  const std::string* TopicFor(const LiveEndpoint& live) const;
  QueuedMessage* TakeFront(const std::string& topic);
  void Rank(const Topics::value_type& topic);
  // Removes the endpoint from open_, or adds it if it can take a message.
  void Close(LiveEndpoint& live);
  void Open(LiveEndpoint& live);

  const std::string tenant_id_;
  std::map<std::string, QueuedMessage> messages_;  // by id
  std::unordered_map<std::string, QueuedMessage*> keys_;
  std::unordered_map<std::string, Group> groups_;  // with members
  std::set<std::pair<Timestamp, std::string>> due_;
  std::set<std::string> dead_;
  std::size_t weight_ = 0;
  Topics ready_;
  TopicIndex ranks_;  // of ready_, by the first message of each
  std::uint64_t orders_ = 0;
  std::map<std::string, LiveEndpoint> endpoints_;  // by id
  // By topic prefix: the endpoints with such a route that can take a message now.
  std::map<std::string, OpenEndpoints, std::less<>> open_;
  // No endpoint of open_ accepts a topic of ready_, but for these:
  std::deque<std::string> hungry_;  // endpoints that can take messages since
  std::deque<std::string> fresh_;   // topics that are ready since
};

}  // namespace everstep
