#include "queue/message_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/message_queue_fixture.h"

namespace everstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using namespace std::chrono_literals;
using Kind = DeliveryOutcome::Kind;

TEST_F(MessageQueueTest, AMessageWaitsForAnEndpointOfItsTopicAndTenant) {
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

TEST_F(MessageQueueTest, UnfinishedMessagesAreRedeliveredAfterARestartWithTheSameId) {
  ASSERT_TRUE(queue_->Register(App("one")));
  const std::string id = Send({.headers = {{"x", "y"}}, .body = "a"});
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  seen_ = 0;
  Crash();
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  EXPECT_EQ(Head(0).id, id);
  EXPECT_EQ(Head(0).attempt, 2U);
  EXPECT_EQ(courier_.taken[0].delivery.content.headers, (MessageHeaders{{"x", "y"}}));
  End(0);
  EXPECT_THAT(Delivered(), IsEmpty());
  seen_ = 0;
  Crash();
  EXPECT_THAT(Delivered(), IsEmpty());
}

TEST_F(MessageQueueTest, ADeliveryInterruptedByACrashCountsAsAnAttempt) {
  ASSERT_TRUE(queue_->Register(App("one")));
  Send({.body = "under way"});
  Send({.body = "later", .delay = 1h});
  EXPECT_THAT(Delivered(), ElementsAre("under way"));
  EXPECT_EQ(Head(0).attempt, 1U);
  for (int stop = 0; stop < 100; ++stop) {  // restarts alone never exhaust the attempts
    seen_ = 0;
    Crash();
    EXPECT_THAT(Delivered(), ElementsAre("under way"));
    EXPECT_EQ(Head(0).attempt, 2U);
  }
  End(0, {Kind::kFailed, {}, "boom"});
  EXPECT_THAT(Delivered(), IsEmpty());
  seen_ = 0;
  Crash();
  clock_.Advance(2s);  // the third attempt was not due, so it cannot have started
  EXPECT_THAT(Delivered(), ElementsAre("under way"));
  EXPECT_EQ(Head(0).attempt, 3U);
  End(0);
  clock_.Advance(1h);
  EXPECT_THAT(Delivered(), ElementsAre("later"));
  EXPECT_EQ(Head(1).attempt, 1U);
}

TEST_F(MessageQueueTest, AClockThatWasSetBackDoesNotResetTheAttempt) {
  ASSERT_TRUE(queue_->Register(App("one")));
  Send({.body = "a"});
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  clock_.Advance(-1h);
  seen_ = 0;
  Crash();
  clock_.Advance(2h);
  ASSERT_TRUE(queue_->Register(App("one")));
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  EXPECT_EQ(Head(0).attempt, 2U);
}

TEST_F(MessageQueueTest, ADeliveryThatAsksForAnotherResetsTheFailures) {
  ASSERT_TRUE(queue_->Register(App("one")));
  Send({.body = "a"});
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  for (std::size_t i = 0; i < 20; i += 2) {
    End(i, {Kind::kFailed, {}, "boom"});
    EXPECT_THAT(Delivered(), IsEmpty());
    clock_.Advance(10s);
    EXPECT_THAT(Delivered(), ElementsAre("a"));
    EXPECT_EQ(Head(i + 1).attempt, i == 0 ? 2U : 3U);
    End(i + 1, {Kind::kAgain, 1s, {}});
    EXPECT_THAT(Delivered(), IsEmpty());
    clock_.Advance(1s);
    EXPECT_THAT(Delivered(), ElementsAre("a"));
    EXPECT_EQ(Head(i + 2).attempt, 2U);
  }
}

TEST_F(MessageQueueTest, AKeyDeduplicatesUntilItsMessageIsDone) {
  ASSERT_TRUE(queue_->Register(App("one")));
  const std::string id = Send({.key = "k", .body = "first", .delay = 5s});
  EXPECT_EQ(Send({.key = "k", .body = "second"}), id);
  EXPECT_THAT(Delivered(), IsEmpty());  // the delay of the first message applies
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

TEST_F(MessageQueueTest, AMessageSentAgainWithItsIdIsNotDuplicated) {
  const std::string id = "msg_01HXYZ123ABC456DEF789GHJKM";
  EXPECT_EQ(Send({.id = id, .body = "a"}), id);
  EXPECT_EQ(Send({.id = id, .body = "a"}), id);
  EXPECT_EQ(queue_->CountAll().waiting, 1U);
  EXPECT_FALSE(queue_->Send({{.tenant_id = "acme", .topic = "t", .id = "mine"}}));
}

TEST_F(MessageQueueTest, MessagesOfAGroupAreDeliveredOneAtATimeButKeyedOnesPass) {
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

TEST_F(MessageQueueTest, ARequestedRedeliveryIsNotANewAttempt) {
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

TEST_F(MessageQueueTest, FailuresAreRetriedLaterAndFinallyGivenUp) {
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
  EXPECT_EQ(Head(0).attempt, 2U);  // attempt 1 guarantees that there was no earlier delivery
}

TEST_F(MessageQueueTest, ABrokenDeliveryIsRetriedWithinSeconds) {
  Open({.attempts_max = 64});
  ASSERT_TRUE(queue_->Register(App("one")));
  Send({.body = "a"});
  std::size_t index = 0;
  for (const auto pause : {1s, 2s, 4s, 8s, 8s, 8s}) {
    EXPECT_THAT(Delivered(), ElementsAre("a"));
    End(index++, {Kind::kBroken, {}, "reset"});
    EXPECT_THAT(Delivered(), IsEmpty());
    clock_.Advance(pause - 1ms);
    EXPECT_THAT(Delivered(), IsEmpty());
    clock_.Advance(1ms);
  }
}

TEST_F(MessageQueueTest, AnUnreachableEndpointIsDroppedAndAnotherGetsItsMessages) {
  ASSERT_TRUE(queue_->Register(App("one", 1)));
  Send({.group = "run", .body = "a"});
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  End(0, {Kind::kNotTaken, {}, "refused"});
  EXPECT_THAT(Delivered(), IsEmpty());
  EXPECT_EQ(queue_->CountAll().endpoints, 0U);
  ASSERT_TRUE(queue_->Register(App("two")));
  EXPECT_THAT(Delivered(), ElementsAre("a"));
  EXPECT_EQ(courier_.taken[1].delivery.url, "http://two");
  EXPECT_EQ(Head(1).attempt, 1U);  // no endpoint has received it before
}

TEST_F(MessageQueueTest, FailuresDoNotRenewTheLeaseOfAnEndpoint) {
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

TEST_F(MessageQueueTest, AnEndpointGetsAsManyDeliveriesAtOnceAsItsConcurrency) {
  ASSERT_TRUE(queue_->Register(App("one", 2)));
  for (const char* body : {"1", "2", "3"}) Send({.body = body});
  EXPECT_THAT(Delivered(), ElementsAre("1", "2"));
  End(1);
  EXPECT_THAT(Delivered(), ElementsAre("3"));
}

TEST_F(MessageQueueTest, TheOldestMessageIsDeliveredFirstAcrossTopics) {
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

TEST_F(MessageQueueTest, AnEndpointWithTheSameRoutesReplacesTheOldOne) {
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

TEST_F(MessageQueueTest, MessagesAreRejectedIfTheQueueIsFullOrTheyAreTooLarge) {
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

constexpr const char* kId = "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV";

TEST_F(MessageQueueTest, ATenantTakesItsShareOfTheQueueAndOfTheEndpoints) {
  auto queue = MessageQueue::Open({*store_, committer_, clock_, random_, courier_, {}, {}},
                                  {.messages_max = 10, .endpoints_max = 10});
  ASSERT_TRUE(queue);
  const auto send = [&](const char* tenant) {
    return (*queue)->Send({{.tenant_id = tenant, .topic = "t"}}).has_value();
  };
  const auto fill = [](const auto& more) {
    int count = 0;
    while (more(count)) ++count;
    return count;
  };
  EXPECT_EQ(fill([&](int) { return send("acme"); }), 5);
  EXPECT_EQ(fill([&](int) { return send("rival"); }), 4);
  const auto join = [&](const char* tenant, int number) {
    Endpoint app = App("app" + std::to_string(number));
    app.tenant_id = tenant;
    for (Endpoint::Route& route : app.routes) route.url += std::to_string(number);
    return (*queue)->Register(app).has_value();
  };
  EXPECT_EQ(fill([&](int number) { return join("acme", number); }), 5);
  EXPECT_EQ(fill([&](int number) { return join("rival", number); }), 4);
  EXPECT_TRUE(join("acme", 0)) << "it is already registered";
}

TEST_F(MessageQueueTest, AMessageWithLongNamesCountsAsSeveral) {
  Open({.messages_max = 10});
  const auto send = [&](NewMessage message) {
    message.tenant_id = "acme";
    return queue_->Send({std::move(message)}).has_value();
  };
  EXPECT_TRUE(send({.topic = std::string(1'000, 't'), .key = std::string(1'000, 'k')}));
  EXPECT_FALSE(send({.topic = std::string(1'000, 't')})) << "four of the tenant's five are used";
  EXPECT_TRUE(send({.topic = "t"}));
  EXPECT_FALSE(send({.topic = "t"}));
}

TEST_F(MessageQueueTest, TenantsDoNotSeeWhichIdsOthersUse) {
  ASSERT_TRUE(queue_->Register(App("one")));
  Endpoint rival = App("one");
  rival.tenant_id = "rival";
  ASSERT_TRUE(queue_->Register(rival));
  EXPECT_EQ(Send({.id = kId, .body = "1"}), kId);
  EXPECT_EQ(Send({.tenant_id = "rival", .id = kId, .body = "2"}), kId);
  Crash();
  EXPECT_THAT(Delivered(), UnorderedElementsAre("1", "2"));
  EXPECT_EQ(queue_->List("acme", "", 10, false).size(), 1U);
  const std::size_t mine = Head(0).tenant_id == "acme" ? 0 : 1;
  End(mine);
  EXPECT_THAT(Delivered(), IsEmpty());
  Crash();
  EXPECT_THAT(courier_.taken, IsEmpty());
  seen_ = 0;
  EXPECT_THAT(Delivered(), ElementsAre("2"));
}

TEST_F(MessageQueueTest, AMessageOfAnEarlierVersionIsDeliveredAndRemoved) {
  const std::string id = Send({.body = "old"});
  const auto rows = [this] {
    return *store_->Read()->ListDocuments({.kind = DocumentKind::kMessage, .tenant_id = ""});
  };
  ASSERT_EQ(rows().size(), 1U);
  TenantDocument row = rows()[0];
  ASSERT_TRUE(committer_.Put({{row.key, std::nullopt}}));
  row.key.name = id;
  ASSERT_TRUE(committer_.Put({row}));
  Crash();
  ASSERT_TRUE(queue_->Register(App("one")));
  EXPECT_THAT(Delivered(), ElementsAre("old"));
  End(0);
  EXPECT_THAT(Delivered(), IsEmpty());
  EXPECT_THAT(rows(), IsEmpty());
}

TEST_F(MessageQueueTest, OnlyTopicsAndEndpointsThatMatchAreLookedAt) {
  constexpr int kTopics = 20'000;
  Endpoint idle = App("idle");
  for (int i = 0; i < 100; ++i) {
    idle.id = "idle" + std::to_string(i);
    idle.routes = {{"nothing", "http://" + idle.id}};
    ASSERT_TRUE(queue_->Register(idle));
  }
  std::vector<NewMessage> messages;
  for (int i = 0; i < kTopics; ++i) {
    messages.push_back({.tenant_id = "acme", .topic = "t" + std::to_string(i)});
  }
  ASSERT_TRUE(queue_->Send(std::move(messages)));
  EXPECT_THAT(Delivered(), IsEmpty());
  EXPECT_FALSE(queue_->Turn()) << "nothing is left to be looked at";
  Endpoint rival = App("one", 1);
  rival.tenant_id = "rival";
  ASSERT_TRUE(queue_->Register(rival));
  Send({.tenant_id = "rival", .body = "theirs"});
  ASSERT_TRUE(queue_->Turn());
  EXPECT_EQ(courier_.taken.size(), 1U) << "one turn is enough";
}

TEST_F(MessageQueueTest, TheDueMessagesOfATenantDoNotHoldUpOthers) {
  Endpoint rival = App("one", 1);
  rival.tenant_id = "rival";
  ASSERT_TRUE(queue_->Register(rival));
  std::vector<NewMessage> messages(20'000, {.tenant_id = "acme", .topic = "t"});
  ASSERT_TRUE(queue_->Send(std::move(messages)));
  clock_.Advance(1s);
  Send({.tenant_id = "rival", .body = "theirs"});
  ASSERT_TRUE(queue_->Turn());
  EXPECT_EQ(courier_.taken.size(), 1U);
}

TEST_F(MessageQueueTest, AnEndpointTakesTheTopicsOfAllItsRoutes) {
  Endpoint app = App("one", 1);
  app.routes = {{"orders.new", "http://new"}, {"orders.", "http://any"}, {"", "http://all"}};
  for (const char* topic : {"orders.new.eu", "zebra", "orders.old", "a"}) {
    Send({.topic = topic, .body = topic});
    clock_.Advance(1ms);
  }
  ASSERT_TRUE(queue_->Register(app));
  std::vector<std::string> urls;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(Delivered().size(), 1U);
    urls.push_back(courier_.taken.at(i).delivery.url);
    End(i);
  }
  EXPECT_THAT(urls, ElementsAre("http://new", "http://all", "http://any", "http://all"));
  app.routes = {{"b", "http://b"}};
  ASSERT_TRUE(queue_->Register(app));
  Send({.topic = "a", .body = "a"});
  Send({.topic = "bc", .body = "bc"});
  EXPECT_THAT(Delivered(), ElementsAre("bc"));
}

TEST(MessageRecords, RoundTrip) {
  const MessageHead head{kId,           "acme",         "t", "g",  "k",
                         FromMicros(5), FromMicros(-7), 3,   true, "boom"};
  EXPECT_EQ(DecodeMessageHead(kId, EncodeMessageHead(head)), head);
  const MessageContent content{{{"a", "b"}, {"c", ""}}, std::string("x\0y", 3)};
  EXPECT_EQ(DecodeMessageContent(EncodeMessageContent(content.headers, content.body)), content);
  EXPECT_EQ(DecodeMessageHead(kId, "\x02"), std::nullopt);
  EXPECT_EQ(DecodeMessageContent(""), std::nullopt);
}

}  // namespace
}  // namespace everstep
