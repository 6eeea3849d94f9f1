#include "work/shell_tool.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/unique_fd.h"
#include "testing/temporary_directory.h"
#include "work/tool_workbench.h"

namespace everstep {
namespace {

std::string FileText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool Runs(int process) { return ::kill(process, 0) == 0 || errno != ESRCH; }

// Waits until the process has ended, since a signal does not take effect immediately.
bool Ends(int process) {
  const UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  pollfd wait{handle.get(), POLLIN, 0};
  return !handle || ::poll(&wait, 1, 10'000) == 1;
}

class ShellToolTest : public testing::Test {
 protected:
  TaskOutcome Run(const std::string& inputs) { return bench_.Run("shell", inputs); }

  // Creates a pipe to which a step writes, so that the test can wait for it without a clock.
  std::string MakePipe(const std::string& name) {
    const std::string path = directory_ / name;
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    return path;
  }

  TemporaryDirectory directory_;
  ToolWorkbench bench_{directory_.path()};
};

TEST_F(ShellToolTest, RunsAProgramOrACommandText) {
  EXPECT_EQ(Run(R"({"argv":["printf","%s-%s","a b",7]})").result,
            R"({"exitCode":0,"stdout":"a b-7","stderr":""})");
  EXPECT_EQ(Run(R"({"command":"cat; echo no >&2","stdin":"yes"})").result,
            R"({"exitCode":0,"stdout":"yes","stderr":"no\n"})");
  EXPECT_EQ(Run(R"({"argv":["/bin/cat"],"stdin":{"a":1}})").result,
            R"({"exitCode":0,"stdout":"{\"a\":1}","stderr":""})");
  const TaskOutcome parsed = Run(R"({"command":"echo '{\"n\": [1, 2]}'","parse":"json"})");
  EXPECT_EQ(ToJson(ResultOf(parsed).Get("json")), R"({"n":[1,2]})");
  EXPECT_EQ(Run(R"({"command":"echo nonsense","parse":"json"})").error_code, "BAD_OUTPUT");
}

TEST_F(ShellToolTest, TheEnvironmentContainsOnlyNamedVariables) {
  bench_.environment["ENGINE_SECRET"] = "x";
  bench_.environment["TZ"] = "UTC";
  Task task = bench_.NewTask("shell", R"({"argv":["env"],"env":{"MINE":1.5,"OFF":null}})");
  task.id.logical_attempt = 3;
  const TaskOutcome outcome = bench_.Run(task);
  EXPECT_EQ(ResultOf(outcome).Get("stdout").text(),
            "EVERSTEP_ATTEMPT=3\nEVERSTEP_IDEMPOTENCY_KEY=key-step-1\nEVERSTEP_RUN_ID=run-1\n"
            "EVERSTEP_STEP_ID=step-1\nHOME=/\nMINE=1.5\nPATH=/usr/bin:/bin\nTZ=UTC\n");
}

TEST_F(ShellToolTest, FailuresAreReportedWithCodeAndDetails) {
  const TaskOutcome code = Run(R"({"command":"echo out; echo why >&2; exit 4"})");
  EXPECT_EQ(code.error_code, "EXIT_STATUS");
  EXPECT_TRUE(code.retryable);
  EXPECT_EQ(code.details, R"({"exitCode":4,"stdout":"out\n","stderr":"why\n"})");
  EXPECT_FALSE(code.permanent);
  const auto final_code = Run(R"({"command":"exit 4","noRetryExitCodes":[2,4]})");
  EXPECT_FALSE(final_code.retryable);
  EXPECT_TRUE(final_code.permanent) << "even if retryOn includes the code";
  const TaskOutcome signal = Run(R"({"command":"kill -9 $$"})");
  EXPECT_EQ(signal.error_code, "SIGNALLED");
  EXPECT_EQ(ResultOf(signal).Get("signal").int_value(), SIGKILL);
  EXPECT_EQ(Run(R"({"argv":["no-such-program"]})").error_code, "COMMAND_NOT_FOUND");
  EXPECT_EQ(Run(R"({"command":"no-such-program"})").error_code, "COMMAND_NOT_FOUND");
  EXPECT_EQ(Run(R"({"argv":["./x"]})").error_code, "COMMAND_NOT_FOUND");
  for (const char* bad :
       {"{}", R"({"argv":["true"],"command":"true"})", R"({"argv":[]})", R"({"argv":[[]]})",
        R"({"command":"true","cwd":"/no/such/place"})", R"({"command":"true","timeout":"x"})",
        R"({"command":"true","env":{"A=B":"c"}})", R"({"command":"true","unknown":1})",
        R"({"argv":["a\u0000b"]})", R"({"argv":[""]})"}) {
    const TaskOutcome outcome = Run(bad);
    EXPECT_EQ(outcome.error_code, "BAD_INPUT") << bad;
    EXPECT_FALSE(outcome.retryable) << bad;
  }
}

TEST_F(ShellToolTest, AProgramThatCannotBeExecutedIsAFailure) {
  const std::string path = directory_ / "broken";
  std::ofstream(path) << "\x7f"
                         "ELF nonsense";
  ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
  const TaskOutcome outcome = Run(R"({"argv":[")" + path + "\"]}");
  EXPECT_EQ(outcome.error_code, "COMMAND_FAILED");
}

TEST_F(ShellToolTest, LongOutputIsTruncatedAndKeptAsAnArtifact) {
  const TaskOutcome large = Run(R"({"command":"head -c 100000 /dev/zero | tr '\\0' x"})");
  const Value result = ResultOf(large);
  EXPECT_EQ(result.Get("stdout").text().size(), 24U << 10);
  const std::string uri = result.Get("stdoutArtifact").Get("$artifact").Get("uri").text();
  EXPECT_EQ(bench_.box().artifacts().Read(uri)->size(), 100'000U);
  EXPECT_EQ(ValueFromJson(large.artifacts)->At(0).Get("kind").text(), "stdout");
  const TaskOutcome cut = Run(
      R"({"command":"head -c 5000000 /dev/zero; head -c 100 /dev/zero >&2","maxOutputBytes":10})");
  EXPECT_EQ(ResultOf(cut).Get("stdout").text().size(), 10U);
  EXPECT_EQ(ResultOf(cut).Get("stdoutTruncated"), Value::Bool(true));
  EXPECT_EQ(ResultOf(cut).Get("stderrTruncated"), Value::Bool(true));
  EXPECT_EQ(ResultOf(Run(R"({"command":"printf '\\377'"})")).Get("stdout").text(), "\xef\xbf\xbd");
}

TEST_F(ShellToolTest, ALongInputAndALongOutputDoNotBlockEachOther) {
  const std::string text(1 << 20, 'i');
  const TaskOutcome outcome = Run(R"({"argv":["cat"],"stdin":")" + text + "\"}");
  EXPECT_EQ(ValueFromJson(outcome.artifacts)->At(0).Get("sizeBytes").int_value(), 1 << 20);
  EXPECT_TRUE(Run(R"({"argv":["true"],"stdin":")" + text + "\"}").succeeded);
}

TEST_F(ShellToolTest, WithoutACwdThereIsAScratchDirectoryForTheAttempt) {
  const std::string where = ResultOf(Run(R"({"command":"pwd -P; touch x"})")).Get("stdout").text();
  EXPECT_NE(where.find("/scratch/step-"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(where.substr(0, where.size() - 1)));
  const TaskOutcome given = Run(R"({"command":"pwd -P","cwd":"/usr"})");
  EXPECT_EQ(ResultOf(given).Get("stdout").text(), "/usr\n");
}

TEST_F(ShellToolTest, MatchingFilesAreWrittenToTheArtifactStore) {
  Task task = bench_.NewTask(
      "shell",
      R"({"command":"mkdir out; cd out; echo 1 > b.json; echo 2 > a.txt; ln -s /etc l.json"})");
  task.artifacts = {"out/*.json", "out/a.*", "out/*"};
  const TaskOutcome outcome = bench_.Run(task);
  const Value refs = *ValueFromJson(outcome.artifacts);
  ASSERT_EQ(refs.list().size(), 2U) << outcome.artifacts;
  EXPECT_EQ(refs.At(0).Get("name").text(), "out/a.txt");
  EXPECT_EQ(refs.At(1).Get("contentType").text(), "application/json");
  EXPECT_EQ(*bench_.box().artifacts().Read(refs.At(1).Get("uri").text()), "1\n");
  task = bench_.NewTask("shell", R"({"command":"true"})");
  task.artifacts = {"../*"};
  EXPECT_EQ(bench_.Run(task).error_code, "ARTIFACT_FAILED");
}

TEST_F(ShellToolTest, ATimeoutEndsTheWholeGroup) {
  const std::string pids = directory_ / "pids";
  const TaskOutcome outcome =
      Run(R"({"command":"sleep 3600 & echo $! > )" + pids + R"(; wait","timeout":"100ms"})");
  EXPECT_EQ(outcome.error_code, "TIMEOUT");
  EXPECT_EQ(outcome.category, "TIMEOUT");
  EXPECT_TRUE(outcome.retryable);
  EXPECT_TRUE(Ends(std::stoi(FileText(pids))));
}

TEST_F(ShellToolTest, ChildrenThatIgnoreSigtermAreKilledAfterTheGrace) {
  bench_.options.stop_grace = Milliseconds(50);
  const std::string pipe = MakePipe("ready");
  const TaskId id = bench_.Start(
      "shell",
      R"({"command":"trap '' TERM; (trap '' TERM; sleep 3600; sleep 3600) & echo $$ $! > )" + pipe +
          R"(; while :; do sleep 3600; done"})");
  std::ifstream ready(pipe);
  int child = 0;
  int grandchild = 0;
  ready >> child >> grandchild;
  ASSERT_TRUE(Runs(child));
  ASSERT_TRUE(Runs(grandchild));
  bench_.box().Cancel(id, false);
  EXPECT_EQ(bench_.reports.WaitFor(id).error_code, "CANCELLED");
  EXPECT_FALSE(Runs(child));
  EXPECT_TRUE(Ends(grandchild));
}

TEST_F(ShellToolTest, AForcedCancelHasNoGrace) {
  bench_.options.stop_grace = std::chrono::hours(1);
  const std::string pipe = MakePipe("ready");
  const TaskId id = bench_.Start("shell", R"({"command":"trap '' TERM; echo $$ > )" + pipe +
                                              R"(; while :; do sleep 3600; done"})");
  std::ifstream ready(pipe);
  int child = 0;
  ready >> child;
  bench_.box().Cancel(id, false);
  bench_.box().Cancel(id, true);
  EXPECT_EQ(bench_.reports.WaitFor(id).error_code, "CANCELLED");
  EXPECT_FALSE(Runs(child));
}

TEST_F(ShellToolTest, SigtermGivesTimeToCleanUp) {
  const std::string pipe = MakePipe("ready");
  const std::string mark = directory_ / "cleaned";
  const TaskId id =
      bench_.Start("shell", R"({"command":"trap 'echo yes > )" + mark + R"(; exit' TERM; echo > )" +
                                pipe + R"(; while :; do sleep 0.01; done"})");
  std::ifstream ready(pipe);
  std::string line;
  std::getline(ready, line);
  bench_.box().Cancel(id, false);
  EXPECT_EQ(bench_.reports.WaitFor(id).error_code, "CANCELLED");
  EXPECT_EQ(FileText(mark), "yes\n");
}

TEST_F(ShellToolTest, TheRestOfTheGroupIsKilledWhenTheCommandEnds) {
  const TaskOutcome outcome = Run(R"({"command":"sleep 3600 & echo $!"})");
  ASSERT_TRUE(outcome.succeeded);
  EXPECT_TRUE(Ends(std::stoi(ResultOf(outcome).Get("stdout").text())));
}

TEST_F(ShellToolTest, ACommandInheritsNoDescriptor) {
  const TaskOutcome outcome = Run(R"({"command":"ls /proc/self/fd | wc -l"})");
  // The three standard descriptors and the one of ls.
  EXPECT_EQ(ResultOf(outcome).Get("stdout").text(), "4\n");
}

TEST_F(ShellToolTest, OutputCountsAsAHeartbeat) {
  const std::string pipe = MakePipe("go");
  const TaskId id = bench_.Start("shell", R"({"command":"echo working; cat )" + pipe + "\"}");
  bench_.reports.WaitForBeat();
  EXPECT_FALSE(bench_.reports.Has(id));
  std::ofstream(pipe) << "on";
  EXPECT_TRUE(bench_.reports.WaitFor(id).succeeded);
}

}  // namespace
}  // namespace everstep
