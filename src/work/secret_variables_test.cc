#include "work/secret_variables.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "work/secrets.h"

namespace everstep {
namespace {

const SecretOwner kAcme = SecretOwner::Tenant("acme");
const SecretOwner kUmbrella = SecretOwner::Tenant("umbrella");

SecretVariables Rules(const std::vector<std::string>& rules) {
  return *SecretVariables::Parse(rules);
}

TEST(SecretVariables, ByDefaultOnlyTheServerMayReadVariables) {
  const SecretVariables none;
  EXPECT_FALSE(none.Allows(kAcme, "PATH"));
  EXPECT_FALSE(none.Allows(SecretOwner::Tenant(""), "PATH"));
  EXPECT_TRUE(none.Allows(SecretOwner::Server(), "PATH"));
}

TEST(SecretVariables, ATenantReadsTheVariablesOfItsRules) {
  const SecretVariables rules = Rules({"acme=STRIPE_KEY", "acme=ACME_*", "umbrella=T_VIRUS"});
  EXPECT_TRUE(rules.Allows(kAcme, "STRIPE_KEY"));
  EXPECT_TRUE(rules.Allows(kAcme, "ACME_X"));
  EXPECT_FALSE(rules.Allows(kAcme, "STRIPE_KEY_2"));
  EXPECT_FALSE(rules.Allows(kAcme, "ACME"));
  EXPECT_FALSE(rules.Allows(kAcme, "T_VIRUS"));
  EXPECT_FALSE(rules.Allows(kUmbrella, "STRIPE_KEY"));
  EXPECT_FALSE(rules.Allows(SecretOwner::Tenant("*"), "STRIPE_KEY"));
  EXPECT_TRUE(Rules({"*=SHARED"}).Allows(kUmbrella, "SHARED"));
}

TEST(SecretVariables, InvalidRulesAreReported) {
  for (const char* bad : {"STRIPE_KEY", "acme=", "=X", "a b=X", "acme=A*B", "acme=A=B", ""}) {
    const std::vector<std::string> rules = {"acme=FINE", bad};
    const auto parsed = SecretVariables::Parse(rules);
    ASSERT_FALSE(parsed) << bad;
    ASSERT_EQ(parsed.error().faults.size(), 1U) << bad;
    EXPECT_NE(parsed.error().faults[0].message.find(std::string("'") + bad + "'"),
              std::string::npos);
  }
}

TEST(Secrets, ATenantCannotDistinguishForbiddenFromMissingSecrets) {
  std::vector<std::string> reasons;
  Secrets secrets([&reasons](const SecretOwner&, const SecretRef&, const std::string& why) {
    reasons.push_back(why);
  });
  secrets.Add("env", std::make_unique<EnvironmentSecrets>(
                         [](std::string_view name) -> std::optional<std::string> {
                           if (name.starts_with("SET_")) return "value";
                           return std::nullopt;
                         },
                         Rules({"acme=SET_MINE", "acme=GONE_*"})));
  EXPECT_EQ(*secrets.Get(kAcme, {"s", "env", "SET_MINE", ""}), "value");
  const auto message = [&](const std::string& key) {
    std::string text = secrets.Get(kAcme, {"s", "env", key, ""}).error().message;
    return text.replace(text.find(key), key.size(), "KEY");
  };
  const std::string forbidden = message("SET_THEIRS");
  EXPECT_EQ(message("GONE_1"), forbidden);
  ASSERT_EQ(reasons.size(), 2U);
  EXPECT_NE(reasons[0].find("does not allow"), std::string::npos) << reasons[0];
  EXPECT_NE(reasons[1].find("is not set"), std::string::npos) << reasons[1];
}

}  // namespace
}  // namespace everstep
