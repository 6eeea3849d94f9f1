#include "work/sqlite_session.h"

#include <poll.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/encoding.h"

namespace everstep {
namespace {

constexpr int kOperationsPerCheck = 1000;
constexpr int kBusyStepMilliseconds = 10;

Value Column(sqlite3_stmt* prepared, int column) {
  const auto bytes = [&](const void* start) {
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(prepared, column));
    return std::string_view(static_cast<const char*>(start), start == nullptr ? 0 : size);
  };
  switch (sqlite3_column_type(prepared, column)) {
    case SQLITE_INTEGER:
      return Value::Int(sqlite3_column_int64(prepared, column));
    case SQLITE_FLOAT: {
      const double number = sqlite3_column_double(prepared, column);
      const bool finite = number >= std::numeric_limits<double>::lowest() &&
                          number <= std::numeric_limits<double>::max();
      return finite ? Value::Double(number) : Value::Null();
    }
    case SQLITE_TEXT:
      return Value::Text(ValidUtf8(bytes(sqlite3_column_text(prepared, column))));
    case SQLITE_BLOB:
      return Value::Map(
          ValueMap{{"$base64", Value::Text(Base64(bytes(sqlite3_column_blob(prepared, column))))}});
    default:
      return Value::Null();
  }
}

std::size_t SizeOf(sqlite3_stmt* prepared) {
  std::size_t size = 0;
  for (int i = 0; i < sqlite3_column_count(prepared); ++i) {
    size += 16 + static_cast<std::size_t>(sqlite3_column_bytes(prepared, i));
  }
  return size;
}

}  // namespace

SqliteSession::SqliteSession(const SqliteLimits& limits, StopRequest& stop)
    : limits_(limits), stop_(stop), begun_(SteadyNow()) {}

ToolOutcome SqliteSession::Run(const std::string& database,
                               const std::vector<SqliteStatement>& statements) {
  if (!Open(database)) return failure_;
  // A single statement is a transaction by itself, and some statements cannot run in another one.
  const bool transaction = statements.size() > 1;
  ValueList results;
  bool ok = !transaction || Execute("BEGIN IMMEDIATE");
  for (std::size_t i = 0; ok && i < statements.size(); ++i) {
    ok = RunStatement(statements[i], results);
  }
  ok = ok && (!transaction || Execute("COMMIT"));
  // Closing the database rolls back an open transaction.
  if (!ok) return failure_;
  return ToolOutcome::Success(Value::List(std::move(results)));
}

bool SqliteSession::Open(const std::string& path) {
  sqlite3* opened = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &opened,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) return Fail(code);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_progress_handler(opened, kOperationsPerCheck, &SqliteSession::OnProgress, this);
  sqlite3_busy_handler(opened, &SqliteSession::OnBusy, this);
  return true;
}

bool SqliteSession::OutOfTime() const {
  return limits_.timeout && SteadyNow() - begun_ >= *limits_.timeout;
}

int SqliteSession::OnProgress(void* self) {
  const auto& session = *static_cast<SqliteSession*>(self);
  return session.stop_.asked() || session.OutOfTime() ? 1 : 0;
}

int SqliteSession::OnBusy(void* self, int times) {
  const auto& session = *static_cast<SqliteSession*>(self);
  const std::chrono::milliseconds waited(static_cast<std::int64_t>(times) * kBusyStepMilliseconds);
  if (session.stop_.asked() || session.OutOfTime() || waited >= session.limits_.busy_timeout) {
    return 0;
  }
  pollfd stop{session.stop_.descriptor(), POLLIN, 0};
  ::poll(&stop, 1, kBusyStepMilliseconds);
  return 1;
}

bool SqliteSession::Execute(const char* sql) {
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK || Fail(code);
}

bool SqliteSession::RunStatement(const SqliteStatement& statement, ValueList& results) {
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  const int code = sqlite3_prepare_v2(database_.get(), statement.sql.data(),
                                      static_cast<int>(statement.sql.size()), &raw, &rest);
  const Prepared prepared(raw);
  if (code != SQLITE_OK) return Fail(code);
  if (raw == nullptr) return FailInput("sql has no statement");
  const std::string_view after(
      rest, static_cast<std::size_t>(statement.sql.data() + statement.sql.size() - rest));
  if (after.find_first_not_of(" \t\r\n;") != std::string_view::npos) {
    return FailInput("sql has more than one statement; give several as a list");
  }
  const int changes_before = sqlite3_total_changes(database_.get());
  ValueMap result;
  if (!Bind(raw, statement.parameters) || !TakeRows(raw, result)) return false;
  const bool writes = sqlite3_stmt_readonly(raw) == 0;
  const int changes = sqlite3_total_changes(database_.get()) - changes_before;
  result.emplace_back("rowsAffected", Value::Int(writes ? changes : 0));
  result.emplace_back("lastInsertId", Value::Int(sqlite3_last_insert_rowid(database_.get())));
  results.push_back(Value::Map(std::move(result)));
  return true;
}

bool SqliteSession::Bind(sqlite3_stmt* prepared, const Value& parameters) {
  const int wanted = sqlite3_bind_parameter_count(prepared);
  if (parameters.kind() == Value::Kind::kMap) {
    for (int i = 1; i <= wanted; ++i) {
      const char* name = sqlite3_bind_parameter_name(prepared, i);
      if (name == nullptr) return FailInput("parameters is a map, but sql has an unnamed '?'");
      const Value value = parameters.Get(name + 1);  // without the prefix character
      if (value.undefined()) return FailInput("there is no parameter '" + std::string(name) + "'");
      if (!BindOne(prepared, i, value)) return false;
    }
    return true;
  }
  const ValueList given = parameters.kind() == Value::Kind::kList ? parameters.list() : ValueList();
  if (given.size() != static_cast<std::size_t>(wanted)) {
    return FailInput("sql has " + std::to_string(wanted) + " parameters, but " +
                     std::to_string(given.size()) + " values were given");
  }
  for (int i = 1; i <= wanted; ++i) {
    if (!BindOne(prepared, i, given[static_cast<std::size_t>(i - 1)])) return false;
  }
  return true;
}

bool SqliteSession::BindOne(sqlite3_stmt* prepared, int index, const Value& value) {
  const auto text = [&](const std::string& t) {
    return sqlite3_bind_text64(prepared, index, t.data(), t.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  };
  int code = SQLITE_OK;
  switch (value.kind()) {
    case Value::Kind::kUndefined:
    case Value::Kind::kNull:
      code = sqlite3_bind_null(prepared, index);
      break;
    case Value::Kind::kBool:
      code = sqlite3_bind_int(prepared, index, value.bool_value() ? 1 : 0);
      break;
    case Value::Kind::kInt:
      code = sqlite3_bind_int64(prepared, index, value.int_value());
      break;
    case Value::Kind::kDouble:
      code = sqlite3_bind_double(prepared, index, value.number());
      break;
    case Value::Kind::kText:
      code = text(value.text());
      break;
    default: {
      const Value encoded = value.Get("$base64");
      if (encoded.kind() == Value::Kind::kText) {
        const auto bytes = FromBase64(encoded.text());
        if (!bytes) return FailInput("a parameter's $base64 is not base64");
        code = sqlite3_bind_blob64(prepared, index, bytes->data(), bytes->size(), SQLITE_TRANSIENT);
      } else {
        code = text(ToJson(value));
      }
      break;
    }
  }
  return code == SQLITE_OK || Fail(code);
}

bool SqliteSession::TakeRows(sqlite3_stmt* prepared, ValueMap& result) {
  ValueList rows;
  bool truncated = false;
  int code = sqlite3_step(prepared);
  for (; code == SQLITE_ROW; code = sqlite3_step(prepared)) {
    bytes_ += SizeOf(prepared);
    truncated = truncated || std::ssize(rows) >= limits_.rows_max || bytes_ > limits_.bytes_max;
    // Drop further rows. A statement that writes must still run to its end.
    if (!truncated) {
      rows.push_back(Row(prepared));
    } else if (sqlite3_stmt_readonly(prepared) != 0) {
      code = SQLITE_DONE;
      break;
    }
  }
  if (code != SQLITE_DONE) return Fail(code);
  result.emplace_back("rows", Value::List(std::move(rows)));
  if (truncated) result.emplace_back("truncated", Value::Bool(true));
  return true;
}

Value SqliteSession::Row(sqlite3_stmt* prepared) {
  ValueMap members;
  const int columns = sqlite3_column_count(prepared);
  for (int i = 0; i < columns; ++i) {
    const char* name = sqlite3_column_name(prepared, i);
    std::string key = ValidUtf8(name == nullptr ? "" : name);
    // If two columns have the same name, the second one becomes name_2.
    const auto taken = [&](const std::string& candidate) {
      return std::any_of(members.begin(), members.end(),
                         [&](const ValueMember& member) { return member.first == candidate; });
    };
    const std::string first = key;
    for (int n = 2; taken(key); ++n) key = first + "_" + std::to_string(n);
    members.emplace_back(std::move(key), Column(prepared, i));
  }
  return Value::Map(std::move(members));
}

bool SqliteSession::Fail(int code) {
  const int primary = code & 0xff;
  const std::string message =
      database_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database_.get());
  if (stop_.asked()) {
    failure_ = ToolOutcome::Cancelled();
  } else if (OutOfTime()) {
    failure_ = ToolOutcome::TimedOut(*limits_.timeout);
  } else if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) {
    failure_ = ToolOutcome::Failure("SQLITE_BUSY", ValidUtf8(message), true);
  } else {
    const bool machine = primary == SQLITE_IOERR || primary == SQLITE_FULL ||
                         primary == SQLITE_NOMEM || primary == SQLITE_PROTOCOL;
    failure_ = ToolOutcome::Failure("SQLITE_ERROR", ValidUtf8(message), machine,
                                    machine ? "SYSTEM" : "USER");
    const int extended = database_ == nullptr ? code : sqlite3_extended_errcode(database_.get());
    failure_.details = Value::Map(ValueMap{{"sqliteCode", Value::Int(extended)}});
  }
  return false;
}

bool SqliteSession::FailInput(std::string message) {
  failure_ = ToolOutcome::BadInput(std::move(message));
  return false;
}

}  // namespace everstep
