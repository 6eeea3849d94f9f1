#include "run/merged_members.h"

#include <gtest/gtest.h>

namespace everstep {
namespace {

std::string Merged(const char* base, const char* changes) {
  return ToJson(MergedMembers(*ValueFromJson(base), *ValueFromJson(changes)));
}

TEST(MergedMembers, AChangeKeepsThePlaceOfItsMember) {
  EXPECT_EQ(Merged(R"({"a":1,"b":2})", R"({"b":3,"c":4,"a":5})"), R"({"a":5,"b":3,"c":4})");
  EXPECT_EQ(Merged("{}", R"({"a":1})"), R"({"a":1})");
  EXPECT_EQ(Merged("[1]", R"({"a":1})"), R"({"a":1})");
  EXPECT_EQ(Merged(R"({"a":1})", "[2]"), R"({"a":1})");
}

TEST(MergedMembers, ManyShortAndLongNames) {
  ValueMap base;
  ValueMap changes;
  for (int i = 0; i < 2'000; ++i) {
    const std::string name = std::to_string(i) + std::string(static_cast<std::size_t>(i % 40), 'x');
    if (i % 3 > 0) base.emplace_back(name, Value::Int(i));
    if (i % 2 > 0) changes.emplace_back(name, Value::Int(-i));
  }
  const Value merged = MergedMembers(Value::Map(base), Value::Map(changes));
  for (const auto& [name, value] : changes) EXPECT_EQ(merged.Get(name), value);
  std::size_t unchanged = 0;
  for (const auto& [name, value] : base) unchanged += merged.Get(name) == value ? 1 : 0;
  EXPECT_EQ(unchanged, 666U);
  EXPECT_EQ(merged.member_count(), 1'666U);
}

}  // namespace
}  // namespace everstep
