#pragma once

#include <chrono>
#include <cstdint>

#include "work/open_calls.h"
#include "work/tool_port.h"
#include "work/worker_threads.h"

namespace everstep {

struct SqliteToolOptions {
  std::uint32_t slots = 4;
};

// Runs SQL on a SQLite database file (docs/tools.md). Each call opens the file again. Extensions
// cannot be loaded.
class SqliteTool final : public Tool {
 public:
  explicit SqliteTool(SqliteToolOptions options);
  ~SqliteTool() override;

  std::string_view kind() const override { return "sqlite"; }
  std::uint32_t slots() const override { return options_.slots; }
  void Start(ToolCall call, Done done) override;
  void Cancel(CallId call, bool force) override { calls_.Cancel(call, force); }

 private:
  const SqliteToolOptions options_;
  OpenCalls calls_;
  WorkerThreads threads_;
};

}  // namespace everstep
