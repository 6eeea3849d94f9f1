#include "work/local_tool_box.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "testing/temporary_directory.h"
#include "work/tool_workbench.h"

namespace everstep {
namespace {

class LocalToolBoxTest : public testing::Test {
 protected:
  TemporaryDirectory directory_;
  ToolWorkbench bench_{directory_.path()};
};

TEST_F(LocalToolBoxTest, HasTheToolsThatAreEnabled) {
  EXPECT_EQ(bench_.box().Kinds(), (std::vector<std::string>{"echo", "http", "merge", "noop",
                                                            "python", "shell", "sleep", "sqlite"}));
  EXPECT_TRUE(bench_.box().Immediate("noop"));
  EXPECT_FALSE(bench_.box().Immediate("shell"));
  EXPECT_EQ(bench_.box().Slots("shell"), 8U);
  EXPECT_EQ(bench_.box().Slots("http"), 64U);
  EXPECT_EQ(bench_.box().Slots("noop"), 0U);
}

TEST_F(LocalToolBoxTest, LeavesOutDisabledTools) {
  bench_.options.tools.enabled = {"noop", "sqlite"};
  EXPECT_EQ(bench_.box().Kinds(), (std::vector<std::string>{"noop", "sqlite"}));
  EXPECT_FALSE(bench_.box().Has("shell"));
  const TaskOutcome outcome = bench_.Run("shell", R"({"command":"true"})");
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_EQ(outcome.error_code, "TOOL_UNKNOWN");
}

TEST_F(LocalToolBoxTest, ImmediateToolsAnswerAtOnce) {
  const auto run = [&](const char* kind, const char* inputs) {
    return bench_.box().RunNow(bench_.NewTask(kind, inputs));
  };
  EXPECT_EQ(run("noop", "{\"any\":1}").result, "");
  EXPECT_EQ(run("echo", R"({"message":"hello","x":1})").result, R"({"message":"hello"})");
  EXPECT_EQ(run("echo", R"({"a":[1, 2]})").result, R"({"a":[1, 2]})");
  EXPECT_EQ(run("echo", "").result, "");
  // If they are started, they report before Start returns.
  const TaskId id = bench_.Start("echo", R"({"message":1})");
  EXPECT_TRUE(bench_.reports.Has(id));
}

TEST_F(LocalToolBoxTest, MergeJoinsMapsAndLists) {
  const auto merged = [&](const char* inputs) {
    return bench_.box().RunNow(bench_.NewTask("merge", inputs));
  };
  EXPECT_EQ(merged(R"({"values":[{"a":1,"b":2},null,{"b":3,"c":4}]})").result,
            R"({"a":1,"b":3,"c":4})");
  EXPECT_EQ(merged(R"({"values":[[1],[],[2,3]]})").result, "[1,2,3]");
  EXPECT_EQ(merged(R"({"values":[]})").result, "{}");
  EXPECT_EQ(merged("{}").result, "{}");
  EXPECT_EQ(merged("").result, "");
  EXPECT_EQ(merged(R"({"left":1})").result, R"({"left":1})");
  EXPECT_EQ(merged(R"({"values":[[1],{"a":1}]})").error_code, "BAD_INPUT");
  EXPECT_EQ(merged(R"({"values":{"a":1}})").error_code, "BAD_INPUT");
}

TEST_F(LocalToolBoxTest, SleepWaitsAndCanBeCancelled) {
  EXPECT_EQ(bench_.Run("sleep", R"({"duration":"5ms"})").result, R"({"sleptMs":5})");
  EXPECT_EQ(bench_.Run("sleep", R"({"duration":1})").result, R"({"sleptMs":1})");
  const TaskId far = bench_.Start("sleep", R"({"duration":"10d"})");
  const TaskId near = bench_.Start("sleep", R"({"duration":"1ms"})");
  EXPECT_TRUE(bench_.reports.WaitFor(near).succeeded);
  EXPECT_FALSE(bench_.reports.Has(far));
  bench_.box().Cancel(far, false);
  EXPECT_EQ(bench_.reports.WaitFor(far).error_code, "CANCELLED");
  bench_.box().Cancel(far, true);  // ignored, since it has ended
  for (const char* bad : {"{}", R"({"duration":"soon"})", R"({"duration":-1})",
                          R"({"duration":1,"extra":2})", "[1]", "not json"}) {
    const TaskOutcome outcome = bench_.Run("sleep", bad);
    EXPECT_EQ(outcome.error_code, "BAD_INPUT") << bad;
    EXPECT_FALSE(outcome.retryable);
  }
}

TEST_F(LocalToolBoxTest, ThousandsOfSleepersShareAThread) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 5000; ++i) {
    ids.push_back(bench_.Start("sleep", R"({"duration":)" + std::to_string(i % 20) + "}"));
  }
  for (const TaskId& id : ids) EXPECT_TRUE(bench_.reports.WaitFor(id).succeeded);
}

TEST_F(LocalToolBoxTest, LargeResultsBecomeArtifacts) {
  bench_.options.tools.inline_bytes_max = 100;
  const std::string inputs = R"({"message":")" + std::string(200, 'm') + "\"}";
  const TaskOutcome outcome = bench_.box().RunNow(bench_.NewTask("echo", inputs));
  ASSERT_TRUE(outcome.succeeded);
  const Value ref = ResultOf(outcome).Get("$artifact");
  EXPECT_EQ(ref.Get("kind").text(), "result");
  EXPECT_EQ(ref.Get("contentType").text(), "application/json");
  EXPECT_EQ(ref.Get("sizeBytes").int_value(), static_cast<std::int64_t>(inputs.size()));
  EXPECT_EQ(*bench_.box().artifacts().Read(ref.Get("uri").text()), inputs);
  EXPECT_EQ(*ValueFromJson(outcome.artifacts), Value::List({ref}));
}

TEST_F(LocalToolBoxTest, ReportsRunningTasksWhenItIsDestroyed) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 20; ++i) {
    ids.push_back(bench_.Start("sleep", R"({"duration":"1h"})"));
    ids.push_back(bench_.Start("shell", R"({"command":"exec sleep 3600"})"));
    ids.push_back(bench_.Start("python", R"j({"code":"import time\ntime.sleep(3600)"})j"));
  }
  bench_.CloseBox();
  for (const TaskId& id : ids) {
    ASSERT_TRUE(bench_.reports.Has(id));
    EXPECT_EQ(bench_.reports.WaitFor(id).error_code, "CANCELLED");
  }
}

TEST_F(LocalToolBoxTest, RemovesTheFilesOfAKilledProcess) {
  namespace fs = std::filesystem;
  fs::create_directories(directory_ / "artifacts/scratch/step-old/deep");
  fs::create_directories(directory_ / "artifacts/new/7-1");
  bench_.box();
  EXPECT_FALSE(fs::exists(directory_ / "artifacts/scratch/step-old"));
  EXPECT_FALSE(fs::exists(directory_ / "artifacts/new"));
}

std::size_t OpenDescriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

TEST_F(LocalToolBoxTest, ThousandsOfTasksLeakNoDescriptor) {
  const auto round = [&](int tasks) {
    std::vector<TaskId> ids;
    for (int i = 0; i < tasks; ++i) {
      ids.push_back(bench_.Start("sqlite", R"({"database":":memory:","sql":"select 1"})"));
      ids.push_back(bench_.Start("python", R"({"code":"result = 1"})"));
      if (i % 5 == 0) ids.push_back(bench_.Start("shell", R"({"argv":["true"]})"));
    }
    for (const TaskId& id : ids) {
      const TaskOutcome outcome = bench_.reports.WaitFor(id);
      ASSERT_TRUE(outcome.succeeded) << outcome.error_code << " " << outcome.error_message;
    }
  };
  round(20);  // starts the interpreters and threads
  const std::size_t before = OpenDescriptors();
  round(1000);
  // The number of interpreters may vary; each has three pipe ends and a process handle.
  EXPECT_LE(OpenDescriptors(), before + 16);
  bench_.CloseBox();
  EXPECT_LE(OpenDescriptors(), before);
}

}  // namespace
}  // namespace everstep
