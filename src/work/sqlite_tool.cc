#include "work/sqlite_tool.h"

#include <utility>

#include "work/inputs.h"
#include "work/sqlite_session.h"

namespace everstep {
namespace {

struct Work {
  std::string database;
  std::vector<SqliteStatement> statements;
  bool list = false;
  SqliteLimits limits;
};

void ReadStatements(Inputs& inputs, Work& work) {
  const Value sql = inputs.Get("sql");
  const Value parameters = inputs.Get("parameters");
  const bool fits = parameters.undefined() || parameters.kind() == Value::Kind::kList ||
                    parameters.kind() == Value::Kind::kMap;
  if (!fits) inputs.Fault("parameters", "must be a list or a map");
  if (sql.kind() == Value::Kind::kText) {
    work.statements.push_back({sql.text(), parameters});
    return;
  }
  work.list = true;
  if (sql.kind() != Value::Kind::kList || sql.list().empty()) {
    inputs.Fault("sql", "must be a statement or a list of statements");
    return;
  }
  if (!parameters.undefined()) {
    inputs.Fault("parameters",
                 "must be given with each statement of a list: {sql: …, parameters: …}");
  }
  for (const Value& item : sql.list()) {
    const Value text = item.kind() == Value::Kind::kMap ? item.Get("sql") : item;
    if (text.kind() == Value::Kind::kText) {
      work.statements.push_back({text.text(), item.Get("parameters")});
    } else {
      inputs.Fault("sql", "must contain statements, or maps with sql and parameters");
    }
  }
}

Work ReadWork(Inputs& inputs, const Task& task) {
  inputs.AllowOnly({"database", "sql", "parameters", "maxRows", "busyTimeout", "timeout"});
  Work work;
  work.database = inputs.Text("database", "");
  if (work.database.empty()) inputs.Fault("database", "is missing");
  ReadStatements(inputs, work);
  work.limits.rows_max = inputs.Int("maxRows", work.limits.rows_max, 0, 1'000'000);
  work.limits.busy_timeout = inputs.Duration("busyTimeout").value_or(work.limits.busy_timeout);
  work.limits.timeout = inputs.Duration("timeout");
  if (task.timeout && (!work.limits.timeout || *task.timeout < *work.limits.timeout)) {
    work.limits.timeout = task.timeout;
  }
  return work;
}

ToolOutcome RunWork(const Work& work, StopRequest& stop) {
  ToolOutcome outcome = SqliteSession(work.limits, stop).Run(work.database, work.statements);
  if (!outcome.succeeded) return outcome;
  if (work.list) {
    outcome.result = Value::Map(ValueMap{{"results", std::move(outcome.result)}});
  } else {
    outcome.result = outcome.result.At(0);
  }
  return outcome;
}

}  // namespace

SqliteTool::SqliteTool(SqliteToolOptions options)
    : options_(options), threads_(options.slots == 0 ? 64 : options.slots) {}

SqliteTool::~SqliteTool() { calls_.StopAll(); }

void SqliteTool::Start(ToolCall call, Done done) {
  Inputs inputs(call.inputs);
  Work work = ReadWork(inputs, call.task);
  if (!inputs.ok()) return done(ToolOutcome::BadInput(inputs.faults()));
  auto stop = calls_.Open(call.id);
  threads_.Run(
      [this, id = call.id, work = std::move(work), stop = std::move(stop), done = std::move(done)] {
        ToolOutcome outcome = stop->asked() ? ToolOutcome::Cancelled() : RunWork(work, *stop);
        calls_.Close(id);
        done(std::move(outcome));
      });
}

}  // namespace everstep
