#include "net/send_batch.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace everstep {
namespace {

struct Pair {
  UniqueFd ours;
  UniqueFd theirs;
};

Pair Connected() {
  std::array<int, 2> fds{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

std::string Received(const Pair& pair) {
  std::array<char, 4096> buffer{};
  const ssize_t bytes = ::recv(pair.theirs.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  return {buffer.data(), bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
}

class SendBatchTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!batch_.usable()) GTEST_SKIP() << "the system does not allow io_uring";
  }

  SendBatch batch_;
};

// Often enough that every slot of the ring is reused.
TEST_F(SendBatchTest, EachGetsItsBytes) {
  for (std::size_t round = 0; round < 300; ++round) {
    std::vector<Pair> pairs(1 + round % 7);
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      pairs[i] = Connected();
      texts.push_back("round " + std::to_string(round) + " to " + std::to_string(i));
    }
    for (std::size_t i = 0; i < pairs.size(); ++i) batch_.Add(pairs[i].ours.get(), texts[i]);
    EXPECT_EQ(batch_.size(), pairs.size());
    const auto sent = batch_.Send();
    ASSERT_EQ(sent.size(), pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      EXPECT_EQ(sent[i], texts[i].size());
      EXPECT_EQ(Received(pairs[i]), texts[i]);
    }
    EXPECT_EQ(batch_.size(), 0U);
  }
}

TEST_F(SendBatchTest, SendsAsManyAsFit) {
  const Pair pair = Connected();
  std::vector<std::string> texts;
  std::string all;
  for (std::size_t i = 0; i < SendBatch::kMost; ++i) {
    texts.push_back(std::to_string(i) + ",");
    all += texts.back();
  }
  for (const std::string& text : texts) batch_.Add(pair.ours.get(), text);
  for (const std::size_t sent : batch_.Send()) EXPECT_GT(sent, 0U);
  EXPECT_EQ(Received(pair), all);
}

TEST_F(SendBatchTest, OneThatCannotSendDoesNotHoldUpTheOthers) {
  const Pair full = Connected();
  const std::string much(1 << 16, 'x');
  while (::send(full.ours.get(), much.data(), much.size(), MSG_DONTWAIT) > 0) {
  }
  Pair broken = Connected();
  broken.theirs.Close();
  const Pair good = Connected();
  batch_.Add(full.ours.get(), "no room");
  batch_.Add(broken.ours.get(), "nobody there");
  batch_.Add(-1, "no socket");
  batch_.Add(good.ours.get(), "here");
  const auto sent = batch_.Send();
  EXPECT_EQ(std::vector(sent.begin(), sent.end()), (std::vector<std::size_t>{0, 0, 0, 4}));
  EXPECT_EQ(Received(good), "here");
}

TEST_F(SendBatchTest, SendsPartOfALargeOne) {
  const Pair pair = Connected();
  const std::string much(16 << 20, 'x');
  batch_.Add(pair.ours.get(), much);
  const std::size_t sent = batch_.Send()[0];
  EXPECT_GT(sent, 0U);
  EXPECT_LT(sent, much.size());
}

// Like a system that does not allow io_uring: there is no descriptor for a ring.
TEST(SendBatch, WithoutARingEachIsLeftToItsCaller) {
  const Pair pair = Connected();
  rlimit allowed{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &allowed), 0);
  const rlimit none{0, allowed.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  SendBatch batch;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &allowed), 0);
  EXPECT_FALSE(batch.usable());
  batch.Add(pair.ours.get(), "a");
  batch.Add(pair.ours.get(), "b");
  const auto sent = batch.Send();
  EXPECT_EQ(std::vector(sent.begin(), sent.end()), (std::vector<std::size_t>{0, 0}));
  EXPECT_EQ(Received(pair), "");
}

TEST_F(SendBatchTest, NothingToSend) { EXPECT_TRUE(batch_.Send().empty()); }

}  // namespace
}  // namespace everstep
