#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "work/command_run.h"
#include "work/open_calls.h"
#include "work/scratch_directory.h"
#include "work/secrets.h"
#include "work/tool_port.h"
#include "work/worker_threads.h"

namespace everstep {

struct ShellToolOptions {
  std::uint32_t slots = 8;
  Environment environment;        // PATH, HOME, LANG and TZ are passed on
  std::string scratch_directory;  // parent of the directories for commands without a cwd
  std::chrono::milliseconds grace{5'000};
  std::uint64_t inline_bytes_max = 64 << 10;
};

// Runs a program (docs/tools.md).
class ShellTool final : public Tool {
 public:
  ShellTool(ShellToolOptions options, const ArtifactStore& artifacts);
  ~ShellTool() override;

  std::string_view kind() const override { return "shell"; }
  std::uint32_t slots() const override { return options_.slots; }
  void Start(ToolCall call, Done done) override;
  void Cancel(CallId call, bool force) override { calls_.Cancel(call, force); }

 private:
  struct Command;

  ToolOutcome Run(const ToolCall& call, Command command, StopRequest& stop);
  ToolOutcome Outcome(const ToolCall& call, const Command& command, CommandOutcome ended) const;
  ToolOutcome Failure(const Command& command, const CommandOutcome& ended) const;
  void AddOutput(const std::string& name, const CapturedText& text, ValueMap& members,
                 ToolOutcome& outcome) const;

  const ShellToolOptions options_;
  const ArtifactStore& artifacts_;
  OpenCalls calls_;
  WorkerThreads threads_;
};

}  // namespace everstep
