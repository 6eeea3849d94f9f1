#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "work/open_calls.h"
#include "work/python_interpreter.h"
#include "work/secrets.h"
#include "work/tool_port.h"
#include "work/worker_threads.h"

namespace everstep {

struct PythonToolOptions {
  std::uint32_t slots = 4;
  Environment environment;        // PATH to find python3, HOME, LANG, TZ
  std::string scratch_directory;  // parent of the directories for steps without a cwd
  std::uint32_t tasks_per_interpreter = 1000;
};

// Runs Python code in warm interpreters (docs/tools.md). An interpreter serves the tasks of one
// tenant only. It is replaced after a task was stopped, crashed it, or left threads running.
class PythonTool final : public Tool {
 public:
  PythonTool(PythonToolOptions options, const ArtifactStore& artifacts);
  ~PythonTool() override;

  std::string_view kind() const override { return "python"; }
  std::uint32_t slots() const override { return options_.slots; }
  void Start(ToolCall call, Done done) override;
  void Cancel(CallId call, bool force) override { calls_.Cancel(call, force); }

 private:
  struct Job;
  struct Idle {
    std::string tenant;
    std::unique_ptr<PythonInterpreter> interpreter;
  };

  ToolOutcome Run(const ToolCall& call, const Job& job, StopRequest& stop);
  ToolOutcome Answered(const ToolCall& call, const Job& job, const Value& frame) const;
  static std::string MaskedPrint(const ToolCall& call, const Job& job, const Value& frame,
                                 std::string_view name);
  void KeepPrinted(const ToolCall& call, const Job& job, const Value& frame,
                   ToolOutcome& outcome) const;
  // Returns an idle interpreter of the tenant or starts a new one. Returns null and sets `problem`
  // if python3 cannot be started.
  std::unique_ptr<PythonInterpreter> Take(const Task& task, std::string& problem);
  void GiveBack(const Task& task, std::unique_ptr<PythonInterpreter> interpreter);

  const PythonToolOptions options_;
  const ArtifactStore& artifacts_;
  OpenCalls calls_;
  std::mutex mutex_;
  std::vector<Idle> idle_;  // at most one per slot; most recently used last
  WorkerThreads threads_;
};

}  // namespace everstep
