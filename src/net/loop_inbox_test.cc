#include "net/loop_inbox.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

namespace everstep {
namespace {

LoopPost Socket() {
  LoopPost post;
  post.kind = LoopPost::Kind::kSocket;
  return post;
}

// How often the loop was woken since the last call.
std::uint64_t WakeUps(const LoopInbox& inbox) {
  std::uint64_t count = 0;
  return ::read(inbox.wake_fd(), &count, sizeof(count)) == sizeof(count) ? count : 0;
}

LoopMail Take(LoopInbox& inbox) {
  LoopMail mail;
  inbox.Take(mail);
  return mail;
}

TEST(LoopInbox, WakesALoopThatWaitsOnceForManyPosts) {
  LoopInbox inbox;
  ASSERT_TRUE(inbox.BeginWait());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(inbox.Post(Socket()));
  EXPECT_EQ(WakeUps(inbox), 1u);
  EXPECT_EQ(Take(inbox).posts.size(), 5u);
  // While awake it needs no wake-up, but must not begin to wait.
  EXPECT_TRUE(inbox.Post(Socket()));
  EXPECT_EQ(WakeUps(inbox), 0u);
  EXPECT_FALSE(inbox.BeginWait());
  EXPECT_EQ(Take(inbox).posts.size(), 1u);
  EXPECT_TRUE(inbox.BeginWait());
  inbox.Wake();
  EXPECT_EQ(WakeUps(inbox), 1u);
  EXPECT_FALSE(inbox.BeginWait());
}

TEST(LoopInbox, APostThatCanWaitDoesNotWakeTheLoop) {
  LoopInbox inbox;
  ASSERT_TRUE(inbox.BeginWait());
  EXPECT_TRUE(inbox.Post(Socket(), LoopInbox::Urgency::kCanWait));
  EXPECT_EQ(WakeUps(inbox), 0u);
  EXPECT_TRUE(inbox.Post(Socket()));
  EXPECT_EQ(WakeUps(inbox), 1u) << "it still waits";
  EXPECT_EQ(Take(inbox).posts.size(), 2u);
  EXPECT_TRUE(inbox.Post(Socket(), LoopInbox::Urgency::kCanWait));
  EXPECT_FALSE(inbox.BeginWait());
}

TEST(LoopInbox, AnswerWorkWakesTheLoopAndKeepsItAwake) {
  struct Work final : AnswerWork {
    void Answer() override {}
  };
  LoopInbox inbox;
  ASSERT_TRUE(inbox.BeginWait());
  EXPECT_TRUE(inbox.Post(std::make_unique<Work>()));
  EXPECT_EQ(WakeUps(inbox), 1u);
  EXPECT_FALSE(inbox.BeginWait());
  EXPECT_EQ(Take(inbox).works.size(), 1u);
  EXPECT_TRUE(inbox.BeginWait());
  inbox.Close();
  EXPECT_FALSE(inbox.Post(std::make_unique<Work>()));
}

TEST(LoopInbox, TakesNothingWhenTheLoopHasEnded) {
  LoopInbox inbox;
  auto stream = std::make_shared<ServerStream>(100);
  LoopPost post = Socket();
  post.answer.stream = stream;
  EXPECT_TRUE(inbox.Post(std::move(post)));
  inbox.Close();
  EXPECT_TRUE(stream->closed());
  EXPECT_FALSE(inbox.Post(Socket()));
}

TEST(LoopInbox, KnowsTheThreadOfItsLoop) {
  LoopInbox inbox;
  EXPECT_FALSE(inbox.OnLoopThread());
  std::thread([&] {
    inbox.BindToThread();
    EXPECT_TRUE(inbox.OnLoopThread());
  }).join();
  EXPECT_FALSE(inbox.OnLoopThread());
}

}  // namespace
}  // namespace everstep
