#include "queue/message_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/append_authority.h"
#include "testing/manual_clock.h"

namespace everstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;
using Kind = DeliveryOutcome::Kind;

// Keeps what it is given until the test says how it ended.
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
         [this](const std::string& group) { return gone_.contains(group); },
         [this](const std::string&, const std::string& group, bool has_later) {
           asked_.push_back(group + (has_later ? ", later" : ""));
           return stalled_.contains(group)
                      ? std::optional<NewMessage>({.topic = "orders.wake", .body = "wake"})
                      : std::nullopt;
         }},
        options);
    ASSERT_TRUE(queue) << ToString(queue.error());
    queue_ = std::move(*queue);
  }
  // The process ends and another opens the store.
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
  // What has been handed to the courier since, by body.
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
  std::vector<std::string> asked_;  // whether they are stalled
  std::unique_ptr<MessageQueue> queue_;
  std::size_t seen_ = 0;
};

TEST_F(MessageQueueTest, AMessageWaitsForSomebodyWhoTakesItsTopic) {
  Send({.body = "a"});
  EXPECT_THAT(Delivered(), IsEmpty());
  Endpoint other = App("one");
  other.routes[0].topic_prefix = "invoices.";
  ASSERT_TRUE(queue_->Register(other));
  Endpoint foreign = App("two");
  foreign.tenant_id = "other";
  ASSERT_TRUE(queue_->Register(foreign));
  EXPECT_THAT(Delivered(), IsEmpty());
  ASSERT_TRUE(queue_->Register(App("three")));
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  EXPECT_EQ(courier_.taken[0].delivery.url, "http://three");
  End(0);
  EXPECT_THAT(Delivered(), IsEmpty());
  EXPECT_EQ(queue_->CountAll().waiting, 0U);
}

TEST_F(MessageQueueTest, WhatIsNotDoneIsDeliveredByTheNextProcessUnderTheSameId) {
  ASSERT_TRUE(queue_->Register(App("one")));
  const std::string id = Send({.headers = {{"x", "y"}}, .body = "a"});
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  seen_ = 0;
  Crash();
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  EXPECT_EQ(Head(0).id, id);
  EXPECT_EQ(Head(0).attempt, 1U);
  EXPECT_EQ(courier_.taken[0].delivery.content.headers, (MessageHeaders{{"x", "y"}}));
  End(0);
  EXPECT_THAT(Delivered(), IsEmpty());
  seen_ = 0;
  Crash();
  EXPECT_THAT(Delivered(), IsEmpty());
}

TEST_F(MessageQueueTest, AKeyIsHeldUntilItsMessageIsDone) {
  ASSERT_TRUE(queue_->Register(App("one")));
  const std::string id = Send({.key = "k", .body = "first", .delay = 5s});
  EXPECT_EQ(Send({.key = "k", .body = "second"}), id);
  EXPECT_THAT(Delivered(), IsEmpty());  // the first one's delay is kept
  seen_ = 0;
  Crash();
  EXPECT_EQ(Send({.key = "k", .body = "third"}), id);
  clock_.Advance(5s);
  EXPECT_THAT(Delivered(), ElementsAre("first"));
  EXPECT_EQ(Send({.key = "k", .body = "fourth"}), id);
  End(0);
  EXPECT_THAT(Delivered(), IsEmpty());
  EXPECT_NE(Send({.key = "k", .body = "fifth"}), id);
  EXPECT_THAT(Delivered(), ElementsAre("fifth"));
}

TEST_F(MessageQueueTest, AMessageSentAgainUnderItsIdIsTheSame) {
  const std::string id = "msg_01HXYZ123ABC456DEF789GHJKM";
  EXPECT_EQ(Send({.id = id, .body = "a"}), id);
  EXPECT_EQ(Send({.id = id, .body = "a"}), id);
  EXPECT_EQ(queue_->CountAll().waiting, 1U);
  EXPECT_FALSE(queue_->Send({{.tenant_id = "acme", .topic = "t", .id = "mine"}}));
}

TEST_F(MessageQueueTest, MessagesOfAGroupComeOneAtATimeAndKeyedOnesPass) {
  ASSERT_TRUE(queue_->Register(App("one")));
  Send({.group = "run", .body = "1"});
  Send({.group = "run", .body = "2"});
  Send({.group = "run", .key = "k", .body = "keyed"});
  Send({.group = "other", .body = "other"});
  EXPECT_THAT(Delivered(), ElementsAre("1", "keyed", "other"));
  End(1);
  EXPECT_THAT(Delivered(), IsEmpty());
  End(0);
  EXPECT_THAT(Delivered(), ElementsAre("2"));
}

TEST_F(MessageQueueTest, AMessageThatIsWantedAgainIsNotANewAttempt) {
  ASSERT_TRUE(queue_->Register(App("one")));
  const std::string id = Send({.group = "run", .body = "a"});
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  End(0, {Kind::kAgain, 3s, {}});
  EXPECT_THAT(Delivered(), IsEmpty());
  seen_ = 0;
  Crash();
  clock_.Advance(2999ms);
  EXPECT_THAT(Delivered(), IsEmpty());
  clock_.Advance(1ms);
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  EXPECT_EQ(Head(0).id, id);
  EXPECT_EQ(Head(0).attempt, 1U);
}

TEST_F(MessageQueueTest, WhatFailsIsTriedLaterAndGivenUpInTheEnd) {
  ASSERT_TRUE(queue_->Register(App("one")));
  const std::string id = Send({.key = "k", .body = "a"});
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  End(0, {Kind::kFailed, {}, "HTTP 500"});
  EXPECT_THAT(Delivered(), IsEmpty());
  clock_.Advance(1s);
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  EXPECT_EQ(Head(1).attempt, 2U);
  End(1, {Kind::kBroken, {}, "reset"});
  EXPECT_THAT(Delivered(), IsEmpty());
  clock_.Advance(2s);
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  EXPECT_EQ(Head(2).attempt, 3U);
  End(2, {Kind::kFailed, {}, "HTTP 500: no"});
  clock_.Advance(1h);
  EXPECT_THAT(Delivered(), IsEmpty());
  seen_ = 0;
  Crash();
  EXPECT_THAT(Delivered(), IsEmpty());
  const auto dead = queue_->List("acme", {}, 10, true);
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_EQ(dead[0].head.id, id);
  EXPECT_EQ(dead[0].head.last_error, "HTTP 500: no");
  EXPECT_THAT(queue_->List("other", {}, 10, true), IsEmpty());
  EXPECT_EQ(queue_->CountAll().dead, 1U);
  EXPECT_FALSE(*queue_->Replay("other", id));
  EXPECT_TRUE(*queue_->Replay("acme", id));
  EXPECT_FALSE(*queue_->Replay("acme", id));
  EXPECT_FALSE(*queue_->Remove("acme", id));
  EXPECT_EQ(queue_->CountAll().dead, 0U);
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  EXPECT_EQ(Head(0).attempt, 1U);
}

TEST_F(MessageQueueTest, WhoIsGoneIsDroppedAndAnotherTakesItsMessages) {
  ASSERT_TRUE(queue_->Register(App("one", 1)));
  Send({.group = "run", .body = "a"});
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  End(0, {Kind::kNotTaken, {}, "refused"});
  EXPECT_THAT(Delivered(), IsEmpty());
  EXPECT_EQ(queue_->CountAll().endpoints, 0U);
  ASSERT_TRUE(queue_->Register(App("two")));
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  EXPECT_EQ(courier_.taken[1].delivery.url, "http://two");
  EXPECT_EQ(Head(1).attempt, 1U);  // nobody had taken it
}

TEST_F(MessageQueueTest, WhoOnlyRefusesIsNotHeardOf) {
  static constexpr auto kLease = 200ms;
  Open({.endpoint_lease = kLease});
  const auto deliver_and_outlast_the_lease = [this] {
    Send({.body = "a"});
    EXPECT_THAT(Delivered(), ElementsAre("a"));
    const auto silent = SteadyNow() + kLease;
    while (SteadyNow() <= silent) std::this_thread::yield();
  };
  ASSERT_TRUE(queue_->Register(App("one")));
  deliver_and_outlast_the_lease();
  End(0);
  EXPECT_THAT(Delivered(), IsEmpty());
  EXPECT_EQ(queue_->CountAll().endpoints, 1U);
  deliver_and_outlast_the_lease();
  End(1, {Kind::kFailed, {}, "HTTP 404"});
  EXPECT_THAT(Delivered(), IsEmpty());
  EXPECT_EQ(queue_->CountAll().endpoints, 0U);
}

TEST_F(MessageQueueTest, AnEndpointTakesAsManyAtOnceAsItSaid) {
  ASSERT_TRUE(queue_->Register(App("one", 2)));
  for (const char* body : {"1", "2", "3"}) Send({.body = body});
  EXPECT_THAT(Delivered(), ElementsAre("1", "2"));
  End(1);
  EXPECT_THAT(Delivered(), ElementsAre("3"));
}

TEST_F(MessageQueueTest, WhatHasWaitedLongestGoesFirstWhateverItsTopic) {
  ASSERT_TRUE(queue_->Register(App("one", 1)));
  for (const char* topic : {"orders.b", "orders.a", "orders.c", "orders.a", "orders.b"}) {
    clock_.Advance(1ms);
    Send({.topic = topic, .body = topic});
  }
  std::vector<std::string> order;
  for (std::size_t index = 0; index < 5; ++index) {
    for (std::string& body : Delivered()) order.push_back(std::move(body));
    End(index);
  }
  EXPECT_THAT(order, ElementsAre("orders.b", "orders.a", "orders.c", "orders.a", "orders.b"));
}

TEST_F(MessageQueueTest, AnotherProcessAtTheSameAddressTakesThePlace) {
  ASSERT_TRUE(queue_->Register(App("one")));
  Endpoint again = App("one");
  again.id = "restarted";
  ASSERT_TRUE(queue_->Register(again));
  EXPECT_EQ(queue_->CountAll().endpoints, 1U);
  Crash();
  EXPECT_EQ(queue_->CountAll().endpoints, 1U);
  queue_->Unregister("acme", "restarted");
  EXPECT_EQ(queue_->CountAll().endpoints, 0U);
}

TEST_F(MessageQueueTest, MessagesOfAHeldGroupWait) {
  ASSERT_TRUE(queue_->Register(App("one")));
  held_ = {"run"};
  Send({.group = "run", .body = "1"});
  Send({.group = "run", .key = "k", .body = "keyed"});
  Send({.group = "other", .body = "2"});
  EXPECT_THAT(Delivered(), ElementsAre("2"));
  held_.clear();
  queue_->LookAgain();
  EXPECT_THAT(Delivered(), ElementsAre("1", "keyed"));
}

TEST_F(MessageQueueTest, AFullQueueAndAMessageTooLargeAreRefused) {
  auto queue = MessageQueue::Open({*store_, committer_, clock_, random_, courier_, {}, {}},
                                  {.messages_max = 1, .body_bytes_max = 3});
  ASSERT_TRUE(queue);
  const auto send = [&](NewMessage message) { return (*queue)->Send({std::move(message)}); };
  EXPECT_EQ(send({.tenant_id = "acme", .topic = "t", .body = "four"}).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(send({.tenant_id = "acme"}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(send({.tenant_id = "acme", .topic = "t", .body = "abc"}));
  EXPECT_EQ(send({.tenant_id = "acme", .topic = "t"}).error().code, ErrorCode::kAdmissionRejected);
}

TEST(MessageRecords, KeepWhatTheyHold) {
  const MessageHead head{"msg_1",       "acme",         "t", "g",  "k",
                         FromMicros(5), FromMicros(-7), 3,   true, "boom"};
  EXPECT_EQ(DecodeMessageHead("msg_1", EncodeMessageHead(head)), head);
  const MessageContent content{{{"a", "b"}, {"c", ""}}, std::string("x\0y", 3)};
  EXPECT_EQ(DecodeMessageContent(EncodeMessageContent(content.headers, content.body)), content);
  EXPECT_EQ(DecodeMessageHead("msg_1", "\x02"), std::nullopt);
  EXPECT_EQ(DecodeMessageContent(""), std::nullopt);
}

TEST_F(MessageQueueTest, MessagesOfAGroupThatIsGoneAreDropped) {
  Send({.group = "run", .body = "a"});
  Send({.group = "run", .key = "k", .body = "b"});
  Send({.group = "other", .body = "c"});
  gone_ = {"run"};
  Crash();
  ASSERT_TRUE(queue_->Register(App("app")));
  EXPECT_THAT(Delivered(), ElementsAre("c"));
  gone_.clear();
  Crash();
  EXPECT_EQ(queue_->CountAll().waiting, 1U);
}

TEST_F(MessageQueueTest, MessagesGoWithTheirRun) {
  AppendAuthority authority(*store_, committer_, clock_, random_, {});
  EventWrite start;
  start.type = EventType::kRunStarted;
  start.run_id = RunId("run");
  EventWrite end = start;
  end.type = EventType::kRunCompleted;
  const AppendOrder order{start.run_id, {start, end}};
  const RunScope scope{"acme", "p", "e", "plan", "1"};
  ASSERT_TRUE(authority.Await(authority.Submit(std::span(&order, 1), scope))[0]);
  const std::string id = Send({.group = "run", .body = "a"});
  Send({.group = "run-2", .body = "b"});
  Send({.tenant_id = "other", .group = "run", .body = "c"});
  ASSERT_EQ(*authority.Purge(std::vector{start.run_id}, {}), 1U);
  const auto count = [this](DocumentKind kind, const std::string& tenant_id) {
    return store_->Read()->ListDocuments({.kind = kind, .tenant_id = tenant_id})->size();
  };
  EXPECT_EQ(count(DocumentKind::kMessage, {}), 2U);
  EXPECT_EQ(count(DocumentKind::kMessageContent, "acme"), 1U);
  EXPECT_EQ(count(DocumentKind::kMessageContent, "other"), 1U);
  Crash();
  ASSERT_TRUE(queue_->Register(App("app")));
  EXPECT_THAT(Delivered(), ElementsAre("b"));
}

TEST_F(MessageQueueTest, AGroupThatIsStalledIsWokenWhenItsLastMessageIsDone) {
  ASSERT_TRUE(queue_->Register(App("app")));
  stalled_ = {"run"};
  Send({.group = "run", .key = "1", .body = "1"});
  Send({.group = "run", .key = "2", .body = "2"});
  EXPECT_THAT(Delivered(), ElementsAre("1", "2"));
  End(0);
  EXPECT_THAT(Delivered(), IsEmpty());
  EXPECT_THAT(asked_, IsEmpty());
  End(1);
  EXPECT_THAT(Delivered(), IsEmpty());
  EXPECT_THAT(asked_, ElementsAre("run"));
  seen_ = 0;
  Crash();  // what wakes it is as durable as the end of the last message
  clock_.Advance(1s);
  EXPECT_THAT(Delivered(), ElementsAre("wake"));
  EXPECT_EQ(Head(0).topic, "orders.wake");
  EXPECT_EQ(Head(0).group, "run");
  stalled_.clear();
  End(0);
  EXPECT_THAT(Delivered(), IsEmpty());
  EXPECT_EQ(queue_->CountAll().waiting, 0U);
}

TEST_F(MessageQueueTest, AGroupThatIsWokenInVainIsWokenLessAndLessOften) {
  ASSERT_TRUE(queue_->Register(App("app")));
  stalled_ = {"run"};
  Send({.group = "run", .body = "1"});
  EXPECT_THAT(Delivered(), ElementsAre("1"));
  End(0);
  std::size_t index = 1;
  for (const auto pause : {1s, 2s, 4s, 8s}) {
    EXPECT_THAT(Delivered(), IsEmpty());
    clock_.Advance(pause - 1ms);
    EXPECT_THAT(Delivered(), IsEmpty());
    clock_.Advance(1ms);
    EXPECT_THAT(Delivered(), ElementsAre("wake"));
    End(index++);
  }
}

TEST_F(MessageQueueTest, MessagesThatComeMuchLaterDoNotKeepAGroupFromBeingWoken) {
  ASSERT_TRUE(queue_->Register(App("app")));
  stalled_ = {"run", "soon"};
  Send({.group = "run", .body = "1"});
  Send({.group = "run", .key = "sleep", .body = "much later", .delay = 1h});
  Send({.group = "soon", .body = "2"});
  Send({.group = "soon", .key = "retry", .body = "soon", .delay = 30s});
  Send({.group = "rests", .body = "3"});
  EXPECT_THAT(Delivered(), ElementsAre("1", "2", "3"));
  for (const std::size_t index : {0U, 1U, 2U}) End(index);
  EXPECT_THAT(Delivered(), IsEmpty());
  EXPECT_THAT(asked_, ElementsAre("run, later", "rests"));
  clock_.Advance(1s);
  EXPECT_THAT(Delivered(), ElementsAre("wake"));
}

}  // namespace
}  // namespace everstep
