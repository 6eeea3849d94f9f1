#include "work/python_tool.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/json.h"
#include "testing/temporary_directory.h"
#include "work/tool_workbench.h"

namespace everstep {
namespace {

class PythonToolTest : public testing::Test {
 protected:
  PythonToolTest() { bench_.options.tools.python_slots = 1; }

  static std::string Inputs(const std::string& code, const std::string& args = "{}",
                            const std::string& more = "") {
    return R"({"code":)" + JsonQuote(code) + R"(,"args":)" + args + more + "}";
  }
  TaskOutcome Run(const std::string& code, const std::string& args = "{}") {
    return bench_.Run("python", Inputs(code, args));
  }

  TemporaryDirectory directory_;
  ToolWorkbench bench_{directory_.path()};
};

TEST_F(PythonToolTest, ReturnsTheVariableResultOrTheValueOfMain) {
  EXPECT_EQ(Run("result = args['a'] + 1", R"({"a":41})").result, "42");
  EXPECT_EQ(Run("def main(a, b=2):\n    return {'sum': a + b}", R"({"a":1})").result,
            R"({"sum":3})");
  EXPECT_EQ(Run("async def main():\n    return [None, True, 'ñ', 1.5]").result,
            R"([null,true,"ñ",1.5])");
  EXPECT_EQ(Run("x = 1").result, "null");
  EXPECT_EQ(Run("result = 3\nraise SystemExit(0)").result, "3");
}

TEST_F(PythonToolTest, AnExceptionHasTypeMessageAndTraceback) {
  const TaskOutcome outcome = Run("print('seen')\ndef f():\n    return {}['k']\nf()");
  EXPECT_EQ(outcome.error_code, "PYTHON_EXCEPTION");
  EXPECT_TRUE(outcome.retryable);
  const Value details = ResultOf(outcome);
  EXPECT_EQ(details.Get("type").text(), "KeyError");
  EXPECT_EQ(details.Get("message").text(), "'k'");
  EXPECT_EQ(details.Get("stdout").text(), "seen\n");
  const std::string& trace = details.Get("traceback").text();
  EXPECT_NE(trace.find("File \"<step>\", line 3, in f\n    return {}['k']"), std::string::npos);
  EXPECT_EQ(trace.find("<string>"), std::string::npos)
      << "contains lines of the worker program: " << trace;
  EXPECT_EQ(ResultOf(Run("class Odd(Exception): pass\nraise Odd('x')")).Get("type").text(), "Odd");
  EXPECT_EQ(ResultOf(Run("def broken(")).Get("type").text(), "SyntaxError");
  EXPECT_EQ(ResultOf(Run("raise SystemExit(3)")).Get("type").text(), "SystemExit");
}

TEST_F(PythonToolTest, AResultThatIsNotJsonIsRejected) {
  for (const char* code : {"result = object()", "result = float('nan')", "result = {1, 2}",
                           "a = []\na.append(a)\nresult = a", "result = '\\ud800'"}) {
    const TaskOutcome outcome = Run(code);
    EXPECT_EQ(outcome.error_code, "PYTHON_RESULT") << code << " " << outcome.result;
  }
  EXPECT_EQ(Run("result = 1").result, "1");
}

TEST_F(PythonToolTest, EachTaskStartsFresh) {
  EXPECT_TRUE(Run("import os, sys\nleft = 1\nos.environ['LEFT'] = '1'\nsys.path.append('/left')\n"
                  "os.chdir('/')")
                  .succeeded);
  EXPECT_EQ(Run("import os, sys\nresult = ['left' in globals(), 'LEFT' in os.environ, "
                "'/left' in sys.path, os.getcwd() == '/']")
                .result,
            "[false,false,false,false]");
}

TEST_F(PythonToolTest, AnInterpreterIsUsedAgainForTheSameTenantOnly) {
  const std::string pid = Run("import os\nresult = os.getpid()").result;
  EXPECT_EQ(Run("import os\nresult = os.getpid()").result, pid);
  Task other = bench_.NewTask("python", Inputs("import os\nresult = os.getpid()"));
  other.scope.tenant_id = "other";
  EXPECT_NE(bench_.Run(other).result, pid);
}

TEST_F(PythonToolTest, ACrashEndsTheTaskAndTheNextGetsANewInterpreter) {
  const TaskOutcome crash = Run("import os\nos._exit(7)");
  EXPECT_EQ(crash.error_code, "PYTHON_CRASHED");
  EXPECT_NE(crash.error_message.find("exit code 7"), std::string::npos) << crash.error_message;
  EXPECT_TRUE(crash.retryable);
  EXPECT_EQ(Run("result = 'up'").result, "\"up\"");
}

TEST_F(PythonToolTest, TimeoutAndCancelReplaceTheInterpreter) {
  const std::string pid = Run("import os\nresult = os.getpid()").result;
  const TaskOutcome late =
      bench_.Run("python", Inputs("while True: pass", "{}", R"(,"timeout":"50ms")"));
  EXPECT_EQ(late.error_code, "TIMEOUT");
  const TaskId id = bench_.Start("python", Inputs("heartbeat()\nimport time\ntime.sleep(3600)"));
  bench_.reports.WaitForBeat();
  bench_.box().Cancel(id, false);
  EXPECT_EQ(bench_.reports.WaitFor(id).error_code, "CANCELLED");
  EXPECT_NE(Run("import os\nresult = os.getpid()").result, pid);
}

TEST_F(PythonToolTest, AnInterpreterWithThreadsLeftBehindIsReplaced) {
  const std::string pid =
      Run("import os, threading\nt = threading.Thread(target=threading.Event().wait, "
          "daemon=True)\nt.start()\nresult = os.getpid()")
          .result;
  EXPECT_NE(Run("import os\nresult = os.getpid()").result, pid);
}

TEST_F(PythonToolTest, PrintedTextBecomesAnArtifactAndDoesNotDisturbTheFrames) {
  const TaskOutcome outcome =
      Run("import os, sys\nprint('hello')\nprint('oops', file=sys.stderr)\n"
          "os.write(1, b'raw')\nos.system('echo from a program')\nresult = 5");
  EXPECT_EQ(outcome.result, "5");
  const Value refs = *ValueFromJson(outcome.artifacts);
  ASSERT_EQ(refs.list().size(), 2U);
  EXPECT_EQ(*bench_.box().artifacts().Read(refs.At(0).Get("uri").text()), "hello\n");
  EXPECT_EQ(refs.At(1).Get("kind").text(), "stderr");
}

TEST_F(PythonToolTest, RunsAFileWithItsNeighbours) {
  std::ofstream(directory_ / "neighbour.py") << "VALUE = 'n'\n";
  std::ofstream(directory_ / "job.py") << "from neighbour import VALUE\n"
                                          "def main(x):\n    return VALUE + x\n";
  EXPECT_EQ(
      bench_.Run("python", R"({"file":")" + (directory_ / "job.py") + R"(","args":{"x":"!"}})")
          .result,
      "\"n!\"");
  const TaskOutcome missing = bench_.Run("python", R"({"file":"/no/such.py"})");
  EXPECT_EQ(ResultOf(missing).Get("type").text(), "FileNotFoundError");
}

TEST_F(PythonToolTest, MatchingFilesAreKeptAndLargeArgumentsWork) {
  Task task = bench_.NewTask("python", Inputs("open('out.csv', 'w').write('a,b')"));
  task.artifacts = {"*.csv"};
  EXPECT_EQ(ValueFromJson(bench_.Run(task).artifacts)->At(0).Get("name").text(), "out.csv");
  const std::string text(1 << 20, 'a');
  EXPECT_EQ(Run("result = len(args['t'])", R"({"t":")" + text + "\"}").result, "1048576");
}

TEST_F(PythonToolTest, WithoutPythonItIsUnavailable) {
  bench_.environment["PATH"] = directory_.path();
  EXPECT_EQ(Run("result = 1").error_code, "PYTHON_UNAVAILABLE");
  EXPECT_EQ(bench_.Run("python", "{}").error_code, "BAD_INPUT");
  EXPECT_EQ(bench_.Run("python", R"({"code":"","args":[1]})").error_code, "BAD_INPUT");
}

TEST_F(PythonToolTest, AProgramThatIsNotAnInterpreterIsACrash) {
  const std::string path = directory_ / "python3";
  std::ofstream(path) << "#!/bin/sh\necho this is not a frame\n";
  ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
  bench_.environment["PATH"] = directory_.path();
  EXPECT_EQ(Run("result = 1").error_code, "PYTHON_CRASHED");
}

}  // namespace
}  // namespace everstep
