#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "everstep/engine.h"
#include "run/tool.h"
#include "work/artifact_store.h"
#include "work/outcome_record.h"
#include "work/secrets.h"
#include "work/tool_port.h"

namespace everstep {

struct LocalToolBoxOptions {
  ToolOptions tools;                       // artifact_directory must be set
  std::string scratch_directory;           // for commands; empty: <artifact_directory>/scratch
  Environment environment;                 // PATH, HOME, LANG, TZ for programs; may be empty
  std::shared_ptr<const Secrets> secrets;  // null: tasks with secrets fail
  Milliseconds stop_grace{5'000};          // of commands, from SIGTERM to SIGKILL
};

// The tools of docs/tools.md. Between the engine and a tool, it inserts secrets into the inputs,
// masks them in the outcome, moves large results to the artifact store, and guarantees that each
// task is reported exactly once. Only one box at a time may write to an artifact directory.
class LocalToolBox final : public ToolBox {
 public:
  LocalToolBox(LocalToolBoxOptions options, Clock& clock);
  // Stops all tools and joins all threads. Tasks that still run are reported as CANCELLED.
  ~LocalToolBox() override;

  bool Has(std::string_view kind) const override;
  bool Immediate(std::string_view kind) const override;
  TaskOutcome RunNow(const Task& task) override;
  void Start(Task task, TaskReports& reports) override;
  void Cancel(const TaskId& task, bool force) override;
  std::uint32_t Slots(std::string_view kind) const override;
  std::vector<std::string> Kinds() const override;

  const ArtifactStore& artifacts() const { return artifacts_; }

 private:
  struct Running {
    CallId call = 0;
    Tool* tool = nullptr;
    bool started = false;  // Tool::Start has returned; until then, Cancel only sets the flags below
    bool cancel = false;
    bool force = false;
  };
  // The context of a started task that is needed for its report.
  struct Report {
    CallId call = 0;
    TaskId task;
    TaskReports* reports = nullptr;
    std::shared_ptr<const SecretMask> mask;
  };
  using Tools = std::map<std::string, std::unique_ptr<Tool>, std::less<>>;
  using ImmediateTools = std::map<std::string, std::unique_ptr<ImmediateTool>, std::less<>>;

  void AddImmediate(std::unique_ptr<ImmediateTool> tool);
  template <typename T, typename... Arguments>
  void Add(std::string_view kind, Arguments&&... arguments);
  bool Enabled(std::string_view kind) const;

  // Returns the call with its secrets inserted, or the reason why it cannot be made.
  Result<ToolCall> Prepare(Task task, CallId id) const;
  void Finish(const Report& report, ToolOutcome outcome);

  const LocalToolBoxOptions options_;
  const ArtifactStore artifacts_;
  const OutcomeRecord record_;
  ImmediateTools immediate_;
  Tools tools_;
  std::atomic<CallId> calls_ = 0;
  std::mutex mutex_;
  std::map<TaskId, Running> running_;
};

}  // namespace everstep
