#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/message_queue_fixture.h"

namespace everstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;
using Kind = DeliveryOutcome::Kind;

using MessageQueueGroupsTest = MessageQueueTest;

TEST_F(MessageQueueGroupsTest, MessagesOfARemovedGroupAreDropped) {
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

TEST_F(MessageQueueGroupsTest, MessagesAreRemovedWithTheirRun) {
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

TEST_F(MessageQueueGroupsTest, AStalledGroupIsWokenWhenItsLastMessageIsDone) {
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
  Crash();  // the wake message is durable together with the removal of the last message
  clock_.Advance(1s);
  EXPECT_THAT(Delivered(), ElementsAre("wake"));
  EXPECT_EQ(Head(0).topic, "orders.wake");
  EXPECT_EQ(Head(0).group, "run");
  stalled_.clear();
  End(0);
  EXPECT_THAT(Delivered(), IsEmpty());
  EXPECT_EQ(queue_->CountAll().waiting, 0U);
}

TEST_F(MessageQueueGroupsTest, AWakeMessageReusesOnlyIdsOfRemovedMessages) {
  ASSERT_TRUE(queue_->Register(App("app")));
  stalled_ = {"run"};
  owner_ = Send({.group = "run", .body = "1"});
  EXPECT_THAT(Delivered(), ElementsAre("1"));
  End(0);
  EXPECT_THAT(Delivered(), IsEmpty());
  seen_ = 0;
  Crash();  // the removed row and the new one have the same name
  clock_.Advance(1s);
  EXPECT_THAT(Delivered(), ElementsAre("wake"));
  EXPECT_EQ(Head(0).id, owner_);
  EXPECT_GE(Head(0).attempt, 2U);
  owner_ = Send({.group = "other", .body = "still there", .delay = 1h});
  End(0);
  EXPECT_THAT(Delivered(), IsEmpty());
  clock_.Advance(2s);
  EXPECT_THAT(Delivered(), ElementsAre("wake"));
  EXPECT_NE(Head(1).id, owner_);
  EXPECT_EQ(Head(1).attempt, 1U);
}

TEST_F(MessageQueueGroupsTest, AGroupThatCannotContinueIsWokenLessAndLessOften) {
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

TEST_F(MessageQueueGroupsTest, MessagesThatAreDueMuchLaterDoNotPreventAWakeMessage) {
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
