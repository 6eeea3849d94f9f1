#include "serve/plan_registry.h"

#include <gtest/gtest.h>

#include "store/keyed_store.h"
#include "testing/manual_clock.h"

namespace everstep {
namespace {

class PlanRegistryTest : public testing::Test {
 protected:
  void Register(const std::string& plan_id, const std::string& version) {
    clock_.Advance(std::chrono::seconds(1));
    const auto registered =
        registry_.Register("acme",
                           "metadata: {planId: " + plan_id + ", planVersion: '" + version +
                               "'}\nsteps: [{stepId: a, kind: noop}]\n",
                           "ada");
    ASSERT_TRUE(registered) << ToString(registered.error());
  }
  std::string Find(const std::string& plan_id, const std::string& version = "",
                   const std::string& tenant_id = "acme") {
    const auto plan = registry_.Find(tenant_id, plan_id, version);
    return plan ? plan->plan_version : std::string(Name(plan.error().code));
  }
  std::string Known(const std::string& plan_id, const std::string& version = "",
                    const std::string& tenant_id = "acme") {
    const auto plan = registry_.Known(tenant_id, plan_id, version);
    return plan ? plan->plan_version : "unknown";
  }

  ManualClock clock_;
  std::unique_ptr<StateStore> store_ = OpenMemoryStore();
  Committer committer_{*store_, clock_, [](auto) {}};
  ProgramLibrary library_{*store_, committer_, {}};
  PlanRegistry registry_{*store_, committer_, library_, clock_};
};

TEST_F(PlanRegistryTest, AVersionThatWasFoundIsKnown) {
  Register("greet", "1");
  EXPECT_EQ(Known("greet", "1"), "unknown");
  EXPECT_EQ(Find("greet", "1"), "1");
  EXPECT_EQ(Known("greet", "1"), "1");
  EXPECT_EQ(Known("greet", "1", "rival"), "unknown");
  EXPECT_EQ(Find("greet", "1", "rival"), "PLAN_NOT_FOUND");
  EXPECT_EQ(Known("greet", "1", "rival"), "unknown");
}

TEST_F(PlanRegistryTest, TheNewestVersionIsTheOneRegisteredLast) {
  Register("greet", "2");
  EXPECT_EQ(Find("greet"), "2");
  EXPECT_EQ(Known("greet"), "2");
  Register("other", "9");
  Register("greet", "1");
  EXPECT_EQ(Known("greet"), "unknown");
  EXPECT_EQ(Find("greet"), "1");
  EXPECT_EQ(Known("greet"), "1");
  Register("greet", "2");  // the same again is not new
  EXPECT_EQ(Find("greet"), "1");
}

TEST_F(PlanRegistryTest, TheNumberOfKnownPlansIsBounded) {
  for (std::size_t i = 0; i <= PlanRegistry::kKnownMax; ++i) {
    Register("p", std::to_string(i));
    EXPECT_EQ(Find("p", std::to_string(i)), std::to_string(i));
  }
  EXPECT_EQ(Known("p", "0"), "unknown");
  EXPECT_EQ(Known("p", std::to_string(PlanRegistry::kKnownMax)),
            std::to_string(PlanRegistry::kKnownMax));
  EXPECT_EQ(Find("p", "0"), "0");
}

}  // namespace
}  // namespace everstep
