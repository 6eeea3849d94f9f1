#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "serve/followers.h"

namespace everstep {
namespace {

using std::chrono::seconds;

// A connection that accepts nothing until the test asks for it.
class HeldStream final : public ReplyStream {
 public:
  explicit HeldStream(bool held) : held_(held) {}

  bool Write(std::string_view piece) override {
    std::unique_lock lock(mutex_);
    text_ += piece;
    changed_.notify_all();
    changed_.wait_for(lock, seconds(60), [this] { return !held_; });
    return true;
  }
  std::size_t queued() const override { return 0; }
  void OnChange(std::function<void()>) override {}
  bool closed() const override { return false; }
  void End() override {}

  void Release() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  bool Gets(std::string_view text) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, seconds(20),
                             [&] { return text_.find(text) != std::string::npos; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_;
  std::string text_;
};

class FollowersThreadedTest : public testing::Test {
 protected:
  void Start(const std::string& tenant, const std::string& run) {
    AppendDefaults defaults;
    defaults.tenant_id = tenant;
    const std::string event =
        R"({"eventType":"RunStarted","runId":")" + run + R"(","payload":{"status":"RUNNING"}})";
    const auto appended = log_.Append(Dialect::kNative, event, defaults);
    ASSERT_TRUE(appended) << ToString(appended.error());
  }
  std::shared_ptr<HeldStream> Follow(const std::string& tenant, bool held) {
    auto stream = std::make_shared<HeldStream>(held);
    FollowRequest request;
    request.runs.tenant_id = tenant;
    followers_.Add(std::move(request), stream, {});
    return stream;
  }

  EmbeddedLog log_{OpenMemoryStore(), SystemClock(), SystemRandom(), {}};
  Followers followers_{log_};
};

TEST_F(FollowersThreadedTest, AFollowerOfOneTenantDoesNotHoldUpThoseOfAnother) {
  Start("busy", "busy-1");
  std::vector<std::shared_ptr<HeldStream>> busy;
  for (int i = 0; i < 8; ++i) busy.push_back(Follow("busy", true));
  ASSERT_TRUE(busy.front()->Gets("busy-1"));
  const auto other = Follow("other", false);
  Start("other", "other-1");
  EXPECT_TRUE(other->Gets("other-1"));
  for (const auto& stream : busy) stream->Release();
  for (const auto& stream : busy) EXPECT_TRUE(stream->Gets("busy-1"));
}

TEST_F(FollowersThreadedTest, AFollowerGetsWhatCameDuringItsTurn) {
  Start("acme", "run-1");
  const auto stream = Follow("acme", true);
  ASSERT_TRUE(stream->Gets("run-1"));
  Start("acme", "run-2");
  stream->Release();
  EXPECT_TRUE(stream->Gets("run-2"));
  for (int run = 3; run < 300; ++run) Start("acme", "run-" + std::to_string(run));
  EXPECT_TRUE(stream->Gets("run-299")) << "over several turns";
}

}  // namespace
}  // namespace everstep
