#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/append_authority.h"
#include "queue/message_queue.h"
#include "testing/manual_clock.h"

namespace everstep {

// Holds each delivery until the test decides how it ends.
class HeldCourier final : public MessageCourier {
 public:
  void Deliver(Delivery delivery, std::function<void(DeliveryOutcome)> done) override {
    taken.push_back({std::move(delivery), std::move(done)});
  }
  struct Taken {
    Delivery delivery;
    std::function<void(DeliveryOutcome)> done;
  };
  std::vector<Taken> taken;
};

class MessageQueueTest : public testing::Test {
 protected:
  MessageQueueTest() { Open(); }

  void Open(MessageQueueOptions options = {.attempts_max = 3}) {
    auto queue = MessageQueue::Open(
        {*store_, committer_, clock_, random_, courier_,
         [this](const std::string&, const std::string& group) { return held_.contains(group); },
         [this](const std::string&, const std::string& group) { return gone_.contains(group); },
         [this](const std::string&, const std::string& group, bool has_later) {
           asked_.push_back(group + (has_later ? ", later" : ""));
           return stalled_.contains(group)
                      ? std::optional<NewMessage>(
                            {.topic = "orders.wake", .id = owner_, .body = "wake"})
                      : std::nullopt;
         }},
        options);
    ASSERT_TRUE(queue) << ToString(queue.error());
    queue_ = std::move(*queue);
  }
  // Simulates a process crash; a new process opens the store.
  void Crash() {
    courier_.taken.clear();
    queue_.reset();
    Open();
  }
  Endpoint App(const std::string& id, std::uint32_t concurrency = 10) {
    return {"acme", id, {{"orders.", "http://" + id}}, "sixteen characters", concurrency, true};
  }
  std::string Send(NewMessage message) {
    if (message.tenant_id.empty()) message.tenant_id = "acme";
    if (message.topic.empty()) message.topic = "orders.new";
    auto ids = queue_->Send({std::move(message)});
    EXPECT_TRUE(ids) << ToString(ids.error());
    return ids ? ids->front() : std::string();
  }
  // The bodies handed to the courier since the last call.
  std::vector<std::string> Delivered() {
    while (queue_->Turn()) {
    }
    std::vector<std::string> bodies;
    for (; seen_ < courier_.taken.size(); ++seen_) {
      bodies.push_back(courier_.taken[seen_].delivery.content.body);
    }
    return bodies;
  }
  void End(std::size_t index, DeliveryOutcome outcome = {}) {
    courier_.taken.at(index).done(std::move(outcome));
  }
  const MessageHead& Head(std::size_t index) { return courier_.taken.at(index).delivery.head; }

  std::unique_ptr<StateStore> store_ = OpenMemoryStore();
  ManualClock clock_;
  SeededRandom random_{1};
  Committer committer_{*store_, clock_, {}};
  HeldCourier courier_;
  std::set<std::string> held_;
  std::set<std::string> gone_;
  std::set<std::string> stalled_;
  std::vector<std::string> asked_;  // the groups that were checked for a stall
  std::string owner_;               // owner id of the wake-up message
  std::unique_ptr<MessageQueue> queue_;
  std::size_t seen_ = 0;
};

}  // namespace everstep
