#include "serve/inbound_rules.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "testing/manual_clock.h"

namespace everstep {
namespace {

class InboundRulesTest : public testing::Test {
 protected:
  static InboundRule Rule(const std::string& id, std::size_t bytes = 1) {
    InboundRule rule;
    rule.rule_id = id;
    rule.types = {"t"};
    rule.when = std::string(bytes, '1');
    rule.deliver = {.token = "x", .payload = {}};
    return rule;
  }
  std::shared_ptr<const TenantRules> Of(const std::string& tenant) {
    const auto rules = rules_.Of(tenant);
    EXPECT_TRUE(rules);
    return *rules;
  }

  ManualClock clock_;
  std::unique_ptr<StateStore> store_ = OpenMemoryStore();
  Committer committer_{*store_, clock_, [](auto) {}};
  InboundRules rules_{*store_, committer_};
};

TEST_F(InboundRulesTest, CallsShareTheRulesUntilOneChanges) {
  EXPECT_EQ(*rules_.Put("shop", Rule("a")), false);
  const auto first = Of("shop");
  EXPECT_EQ(Of("shop"), first);
  EXPECT_EQ(first->rules.size(), 1U);
  EXPECT_EQ(*rules_.Put("shop", Rule("a", 2)), true);
  EXPECT_EQ(*rules_.Put("shop", Rule("b")), false);
  EXPECT_EQ(Of("shop")->rules.front().when, "11");
  EXPECT_EQ(Of("shop")->rules.size(), 2U);
  EXPECT_EQ(first->rules.front().when, "1") << "a call that is under way keeps what it has";
  EXPECT_TRUE(rules_.Remove("shop", "a"));
  EXPECT_EQ(Of("shop")->rules.size(), 1U);
  EXPECT_EQ(rules_.Remove("shop", "a").error().code, ErrorCode::kInboundRuleNotFound);
  EXPECT_TRUE(Of("other")->rules.empty());
}

TEST_F(InboundRulesTest, TheRulesOfATenantHaveFourMebibytesTogether) {
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(rules_.Put("shop", Rule("r" + std::to_string(i), 1'000'000)));
  }
  const auto refused = rules_.Put("shop", Rule("one-more", 300'000));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("4 MiB"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(rules_.Put("shop", Rule("r0", 1'100'000))) << "its former text does not count";
  EXPECT_TRUE(rules_.Put("other", Rule("one-more", 300'000)));
}

TEST_F(InboundRulesTest, ADamagedRuleIsAnErrorOfTheStoreAndCanBeRemoved) {
  ASSERT_TRUE(rules_.Put("shop", Rule("a")));
  for (const char* damaged : {"", "{", "[]", R"({"types":1})"}) {
    ASSERT_TRUE(committer_.Put({{{DocumentKind::kInboundRule, "shop", "a"}, damaged}}));
    InboundRules rules(*store_, committer_);
    const auto read = rules.Of("shop");
    ASSERT_FALSE(read) << damaged;
    EXPECT_EQ(read.error().code, ErrorCode::kStoreCorrupt);
    EXPECT_NE(read.error().message.find("inbound rule a of tenant shop"), std::string::npos);
    EXPECT_TRUE(rules.Of("other")) << "other tenants are not affected";
  }
  InboundRules rules(*store_, committer_);
  ASSERT_TRUE(rules.Remove("shop", "a"));
  EXPECT_TRUE(rules.Of("shop"));
}

TEST_F(InboundRulesTest, RulesOfMoreTenantsThanAreKeptAreReadAgain) {
  for (int i = 0; i < 6; ++i) {
    const std::string tenant = "t" + std::to_string(i);
    for (int j = 0; j < 4; ++j) {
      ASSERT_TRUE(rules_.Put(tenant, Rule("r" + std::to_string(j), 1'000'000)));
    }
    EXPECT_EQ(Of(tenant)->rules.size(), 4U);
  }
  for (int i = 0; i < 6; ++i) EXPECT_EQ(Of("t" + std::to_string(i))->rules.size(), 4U);
}

}  // namespace
}  // namespace everstep
