#include "work/sqlite_tool.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "base/json.h"
#include "testing/temporary_directory.h"
#include "work/tool_workbench.h"

namespace everstep {
namespace {

class SqliteToolTest : public testing::Test {
 protected:
  TaskOutcome Run(const std::string& sql, const std::string& more = "") {
    return bench_.Run("sqlite", Inputs(JsonQuote(sql), more));
  }
  std::string Inputs(const std::string& sql, const std::string& more = "") {
    return R"({"database":)" + JsonQuote(path_) + R"(,"sql":)" + sql + more + "}";
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "test.db";
  ToolWorkbench bench_{directory_.path()};
};

TEST_F(SqliteToolTest, RowsAreMapsAndParametersAreBound) {
  EXPECT_TRUE(Run("create table t (id integer primary key, name text, blob blob)").succeeded);
  const TaskOutcome inserted = Run("insert into t (name, blob) values (?, ?), (?, ?)",
                                   R"(,"parameters":["a",{"$base64":"AP8="},null,1.5])");
  EXPECT_EQ(inserted.result, R"({"rows":[],"rowsAffected":2,"lastInsertId":2})")
      << inserted.error_message;
  EXPECT_EQ(Run("select * from t order by id").result,
            R"({"rows":[{"id":1,"name":"a","blob":{"$base64":"AP8="}},)"
            R"({"id":2,"name":null,"blob":1.5}],"rowsAffected":0,"lastInsertId":0})");
  EXPECT_EQ(
      Run("select :x as x, @y as y, $z as x", R"(,"parameters":{"x":true,"y":[1],"z":"t"})").result,
      R"({"rows":[{"x":1,"y":"[1]","x_2":"t"}],"rowsAffected":0,"lastInsertId":0})");
}

TEST_F(SqliteToolTest, AListIsOneTransaction) {
  const TaskOutcome outcome = bench_.Run("sqlite", Inputs(R"j(["create table t (n unique)",
                           {"sql":"insert into t values (?)","parameters":[1]},
                           "select count(*) as c from t"])j"));
  EXPECT_EQ(ToJson(ResultOf(outcome).Get("results").At(2).Get("rows")), R"([{"c":1}])");
  const TaskOutcome failed =
      bench_.Run("sqlite", Inputs(R"j(["insert into t values (2)","insert into t values (1)"])j"));
  EXPECT_EQ(failed.error_code, "SQLITE_ERROR");
  EXPECT_FALSE(failed.retryable);
  EXPECT_EQ(ToJson(ResultOf(Run("select count(*) as c from t")).Get("rows")), R"([{"c":1}])");
}

TEST_F(SqliteToolTest, RowsAreLimited) {
  const std::string numbers =
      "with recursive n(i) as (select 1 union all select i + 1 from n where i < 50) select i from "
      "n";
  const Value result = ResultOf(Run(numbers, R"(,"maxRows":10)"));
  EXPECT_EQ(result.Get("rows").list().size(), 10U);
  EXPECT_EQ(result.Get("truncated"), Value::Bool(true));
  EXPECT_TRUE(ResultOf(Run(numbers, R"(,"maxRows":50)")).Get("truncated").undefined());
}

TEST_F(SqliteToolTest, ALockedDatabaseIsBusyAndCanBeRetried) {
  ASSERT_TRUE(Run("create table t (n)").succeeded);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "begin exclusive", nullptr, nullptr, nullptr), SQLITE_OK);
  const TaskOutcome busy = Run("insert into t values (1)", R"(,"busyTimeout":20)");
  EXPECT_EQ(busy.error_code, "SQLITE_BUSY");
  EXPECT_TRUE(busy.retryable);
  const TaskId id =
      bench_.Start("sqlite", Inputs(R"j("insert into t values (1)")j", R"(,"busyTimeout":"1h")"));
  bench_.box().Cancel(id, false);
  EXPECT_EQ(bench_.reports.WaitFor(id).error_code, "CANCELLED");
  sqlite3_close(other);
  EXPECT_TRUE(Run("insert into t values (1)").succeeded);
}

TEST_F(SqliteToolTest, AnEndlessStatementTimesOut) {
  const TaskOutcome outcome =
      Run("with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n",
          R"(,"timeout":"30ms")");
  EXPECT_EQ(outcome.error_code, "TIMEOUT");
}

TEST_F(SqliteToolTest, InvalidStatementsAndInputsAreRejected) {
  EXPECT_EQ(Run("select nonsense(").error_code, "SQLITE_ERROR");
  EXPECT_EQ(Run("select load_extension('x')").error_code, "SQLITE_ERROR");
  EXPECT_EQ(Run("select 1; select 2").error_code, "BAD_INPUT");
  EXPECT_EQ(Run("  ").error_code, "BAD_INPUT");
  EXPECT_EQ(Run("select ?").error_code, "BAD_INPUT");
  EXPECT_EQ(Run("select :a", R"(,"parameters":{"b":1})").error_code, "BAD_INPUT");
  EXPECT_EQ(Run("select 1", R"(,"parameters":7)").error_code, "BAD_INPUT");
  EXPECT_EQ(bench_.Run("sqlite", R"({"sql":"select 1"})").error_code, "BAD_INPUT");
  EXPECT_EQ(bench_.Run("sqlite", R"({"database":"/no/such/place","sql":"select 1"})").error_code,
            "SQLITE_ERROR");
}

}  // namespace
}  // namespace everstep
