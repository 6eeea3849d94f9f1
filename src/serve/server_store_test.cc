// A store that starts to fail under a running server shows in every answer, probe and alert.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "testing/server_workbench.h"

namespace everstep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlan =
    "metadata: {planId: p, planVersion: '1'}\nsteps: [{stepId: a, kind: noop}]";

class ServerStoreTest : public testing::Test {
 protected:
  // The next write finds that the file it must extend is gone.
  void MakeWritesFail() {
    std::vector<fs::path> logs;
    for (const auto& entry : fs::directory_iterator(bench_.directory() + "/store")) {
      if (entry.path().extension() == ".log") logs.push_back(entry.path());
    }
    ASSERT_FALSE(logs.empty());
    fs::remove(*std::ranges::max_element(logs));
  }
  // Polls for up to ten seconds for an effect of another thread that sends no notification.
  template <typename Condition>
  static bool Eventually(const Condition& condition) {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    for (int i = 0; i < 1'000; ++i) {
      if (condition()) return true;
      never.wait_for(lock, std::chrono::milliseconds(10));
    }
    return condition();
  }

  ServerWorkbench bench_;
  const std::string token_ = bench_.Token("shop", "tenant-admin");
};

TEST_F(ServerStoreTest, AFailingStoreShowsInAnswersProbesAndAlerts) {
  const std::string run_id = bench_.StartRun(token_, kPlan);
  ASSERT_EQ(bench_.EndOf(token_, run_id), "COMPLETED");
  MakeWritesFail();

  const std::set<std::string> stopped = {"INDETERMINATE", "STORE_STOPPED", "ENGINE_STOPPED"};
  const ServerWorkbench::Request writes[] = {
      {"POST", "/v1/events", R"({"eventType":"RunStarted","runId":"late"})", {}, token_},
      {"POST",
       "/v1/runs",
       R"({"plan":"metadata: {planId: n, planVersion: '1'}\nsteps: [{stepId: a, kind: noop}]"})",
       {},
       token_},
      {"POST",
       "/v1/plans",
       "metadata: {planId: q, planVersion: '1'}\nsteps: [{stepId: a, kind: noop}]",
       {},
       token_},
      {"PUT", "/v1/sinks/s", "kind: file", {}, token_},
      {"PUT", "/v1/inbound/rules/r", "types: ['*']\ndeliver: {token: t}", {}, token_},
      {"PUT", "/v1/queues/q", R"({"concurrency":1})", {}, token_},
      {"POST", "/v1/artifacts", "bytes", {}, token_},
  };
  for (const ServerWorkbench::Request& request : writes) {
    const ServerReply reply = bench_.Send(request);
    EXPECT_EQ(reply.status, 503) << request.path << ": " << reply.body;
    EXPECT_TRUE(stopped.contains(reply.Code())) << request.path << ": " << reply.body;
    EXPECT_EQ(reply.body.find(bench_.directory()), std::string::npos) << reply.body;
  }
  EXPECT_EQ(bench_.Get("", "/readyz").status, 503);
  EXPECT_EQ(bench_.Get("", "/livez").status, 200) << "restarting would not help the reads";
  EXPECT_EQ(bench_.Get(token_, "/v1/runs/" + run_id).status, 200) << "reads go on";
  EXPECT_TRUE(Eventually([this] {
    return bench_.Get(bench_.admin(), "/v1/alerts").body.find("STORE_STOPPED") != std::string::npos;
  }));

  bench_.Restart();
  EXPECT_EQ(bench_.Get("", "/readyz").status, 200);
  EXPECT_EQ(bench_.EndOf(token_, run_id), "COMPLETED") << "nothing acknowledged is lost";
  for (const char* path : {"/v1/runs/late", "/v1/sinks/s", "/v1/plans/q/versions/1"}) {
    EXPECT_EQ(bench_.Get(token_, path).status, 404) << path << ": it was refused";
  }
  EXPECT_EQ(bench_.Send({"PUT", "/v1/sinks/s", "kind: file", {}, token_}).status, 201);
}

}  // namespace
}  // namespace everstep
