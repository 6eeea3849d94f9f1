#pragma once

#include <sqlite3.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "work/stop_request.h"
#include "work/tool_port.h"

namespace everstep {

struct SqliteStatement {
  std::string sql;
  Value parameters;  // a list, a map, or undefined
};

struct SqliteLimits {
  std::int64_t rows_max = 10'000;
  std::size_t bytes_max = 64 << 20;  // for all rows together
  std::chrono::milliseconds busy_timeout{5'000};
  std::optional<Milliseconds> timeout;
};

// A connection that executes one call. Not thread-safe, except that another thread may use `stop`.
class SqliteSession {
 public:
  SqliteSession(const SqliteLimits& limits, StopRequest& stop);

  // Runs all statements in one transaction, which is rolled back if one fails. The result has one
  // entry per statement.
  ToolOutcome Run(const std::string& database, const std::vector<SqliteStatement>& statements);

 private:
  struct CloseDatabase {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Prepared = std::unique_ptr<sqlite3_stmt, Finalize>;

  static int OnProgress(void* self);
  static int OnBusy(void* self, int times);

  bool Open(const std::string& path);
  bool Execute(const char* sql);
  bool RunStatement(const SqliteStatement& statement, ValueList& results);
  bool Bind(sqlite3_stmt* prepared, const Value& parameters);
  bool BindOne(sqlite3_stmt* prepared, int index, const Value& value);
  bool TakeRows(sqlite3_stmt* prepared, ValueMap& result);
  Value Row(sqlite3_stmt* prepared);
  bool Fail(int code);
  bool FailInput(std::string message);
  bool OutOfTime() const;

  const SqliteLimits& limits_;
  StopRequest& stop_;
  const std::chrono::steady_clock::time_point begun_;
  std::size_t bytes_ = 0;
  ToolOutcome failure_;
  std::unique_ptr<sqlite3, CloseDatabase> database_;
};

}  // namespace everstep
