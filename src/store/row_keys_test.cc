#include "store/row_keys.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace everstep {
namespace {

std::string Listed(RowKind index, const RunScope& scope, Timestamp created_at, std::uint64_t run) {
  RunState state;
  state.scope = scope;
  state.status = RunStatus::kRunning;
  state.created_at = created_at;
  return std::string(RowKeys().Listed(index, state, RunNo(run)));
}

RC_GTEST_PROP(RowKeysOrder, NewerRunsComeFirst, (std::int64_t a, std::int64_t b)) {
  RC_PRE(a > b);
  const RunScope scope{"t", "p", "e", "plan", "1"};
  for (const RowKind index : kListIndexes) {
    RC_ASSERT(Listed(index, scope, FromMicros(a), 1) < Listed(index, scope, FromMicros(b), 2));
    RC_ASSERT(Listed(index, scope, FromMicros(a), 2) < Listed(index, scope, FromMicros(a), 1));
  }
}

RC_GTEST_PROP(RowKeysOrder, EarlierTimersComeFirst, (std::int64_t a, std::int64_t b)) {
  RC_PRE(a < b);
  RowKeys one;
  RowKeys two;
  RC_ASSERT(one.Timer(FromMicros(a), RunNo(9), "z") < two.Timer(FromMicros(b), RunNo(1), "a"));
}

RC_GTEST_PROP(RowKeysOrder, NoScopesRowsLieUnderAnothersPrefix,
              (const std::string& a, const std::string& b, const std::string& c,
               const std::string& d)) {
  const RunScope one{a, b, c, d, "1"};
  const RunScope two{b, a, d, c, "1"};
  for (const RowKind index : kListIndexes) {
    const std::string prefix(RowKeys().ListedPrefix(index, one, RunStatus::kRunning));
    const bool under = Listed(index, two, FromMicros(1), 1).starts_with(prefix);
    const std::string other(RowKeys().ListedPrefix(index, two, RunStatus::kRunning));
    RC_ASSERT(under == (prefix == other));
  }
}

RC_GTEST_PROP(RowKeysParts, AreReadBack,
              (std::int64_t time, std::uint64_t run, const std::string& text)) {
  RowKeys keys;
  const auto timer = ParseTimerKey(keys.Timer(FromMicros(time), RunNo(run), text));
  RC_ASSERT((timer && timer->due_at == FromMicros(time) && timer->run == RunNo(run)));
  RC_ASSERT(timer->wait_id == text);
  const auto entity = ParseEntityKey(keys.Entity(RunNo(run), {EntityKind::kStep, text}));
  RC_ASSERT((entity == EntityKey{EntityKind::kStep, text}));
  for (const RowKind index : kListIndexes) {
    const std::string key = Listed(index, {text, "p", "e", "plan", "1"}, FromMicros(time), run);
    const auto listed = ParseListedKey(key);
    RC_ASSERT((listed && listed->tenant_id == text && listed->run == RunNo(run)));
    RC_ASSERT(listed->created_at == FromMicros(time));
  }
}

TEST(RowKeysParts, OfAnotherKindAreNotRead) {
  RowKeys keys;
  EXPECT_FALSE(ParseTimerKey(keys.Outbox(Position(1))));
  EXPECT_FALSE(ParseOutboxKey(keys.Timer({}, RunNo(1), "w")));
  EXPECT_FALSE(ParseRunByNo(keys.RunById(RunId("run"))));
  EXPECT_FALSE(ParseEventKey(keys.Run(RunNo(1))));
  EXPECT_FALSE(ParseListedKey(keys.Token("tenant", "token")));
  EXPECT_FALSE(ParseListedKey("A"));
}

TEST(RowKeysParts, AStatusThatNoRunHasIsNotRead) {
  RowKeys keys;
  EXPECT_TRUE(ParseListedKey(keys.ListedAs(RunStatus::kCancelled, {}, RunNo(1))));
  EXPECT_FALSE(ParseListedKey(keys.ListedAs(static_cast<RunStatus>(8), {}, RunNo(1))));
  EXPECT_FALSE(ParseListedKey(keys.ListedAs(static_cast<RunStatus>(255), {}, RunNo(1))));
}

}  // namespace
}  // namespace everstep
