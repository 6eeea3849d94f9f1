// How the registry of plans handles a store that refuses writes or is damaged.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "serve/plan_registry.h"
#include "testing/forwarding_store.h"
#include "testing/manual_clock.h"

namespace everstep {
namespace {

// A store that can refuse plans and documents for lack of space.
class FullStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Status Commit(std::span<const RunChange* const> changes,
                std::span<const TenantDocument* const> documents) override {
    return refuses_documents ? Full() : ForwardingStore::Commit(changes, documents);
  }
  Status PutPlan(const Sha256Digest& sha256, std::string_view document) override {
    return refuses_plans ? Full() : ForwardingStore::PutPlan(sha256, document);
  }

  bool refuses_plans = false;
  bool refuses_documents = false;

 private:
  static Status Full() { return Error{ErrorCode::kStoreFull, "no space", {}}; }
};

class PlanRegistryStoreTest : public testing::Test {
 protected:
  static std::string Plan(const std::string& step) {
    return "metadata: {planId: greet, planVersion: '1'}\nsteps: [{stepId: " + step +
           ", kind: noop}]\n";
  }
  Result<PlanRegistry::Registered> Register(const std::string& document) {
    return registry_.Register("acme", document, "ci");
  }

  ManualClock clock_;
  FullStore store_{OpenMemoryStore()};
  Committer committer_{store_, clock_, [](auto) {}};
  ProgramLibrary library_{store_, committer_, {}, {}};
  PlanRegistry registry_{store_, committer_, library_, clock_};
};

TEST_F(PlanRegistryStoreTest, APlanThatCannotBeWrittenIsNotKnown) {
  const ProgramRef ref{std::string(kPlanFormat), ToHex(Sha256(Plan("a")))};
  store_.refuses_plans = true;
  EXPECT_EQ(Register(Plan("a")).error().code, ErrorCode::kStoreFull);
  EXPECT_EQ(library_.Find(ref).error().code, ErrorCode::kPlanUnavailable);
  store_.refuses_plans = false;
  store_.refuses_documents = true;
  EXPECT_EQ(Register(Plan("a")).error().code, ErrorCode::kStoreFull);
  EXPECT_EQ(registry_.Find("acme", "greet", "1").error().code, ErrorCode::kPlanNotFound);
  store_.refuses_documents = false;
  const auto registered = Register(Plan("a"));
  ASSERT_TRUE(registered) << ToString(registered.error());
  EXPECT_FALSE(registered->existing);
  EXPECT_TRUE(library_.Find(ref));
}

TEST_F(PlanRegistryStoreTest, AVersionRefersToOneDocumentForever) {
  ASSERT_TRUE(Register(Plan("a")));
  EXPECT_TRUE(Register(Plan("a"))->existing);
  EXPECT_EQ(Register(Plan("b")).error().code, ErrorCode::kPlanVersionTaken);
  EXPECT_EQ(registry_.Find("acme", "greet", "1")->sha256, ToHex(Sha256(Plan("a"))));
  EXPECT_EQ(registry_.Find("other", "greet", "1").error().code, ErrorCode::kPlanNotFound);
}

TEST_F(PlanRegistryStoreTest, ADamagedEntryIsAnErrorOfTheStore) {
  ASSERT_TRUE(Register(Plan("a")));
  const DocumentKey key{DocumentKind::kPlanVersion, "acme", PlanRegistry::NameOf("greet", "1")};
  const std::string whole = **store_.Read()->FindDocument(key);
  for (const std::string& damaged : {whole.substr(0, 20), std::string(), std::string("[]")}) {
    ASSERT_TRUE(committer_.Put({{key, damaged}}));
    PlanRegistry registry(store_, committer_, library_, clock_);  // remembers no plans
    const auto found = registry.Find("acme", "greet", "1");
    ASSERT_FALSE(found) << damaged;
    EXPECT_EQ(found.error().code, ErrorCode::kStoreCorrupt) << ToString(found.error());
    EXPECT_EQ(registry.Find("acme", "greet", "").error().code, ErrorCode::kStoreCorrupt);
    EXPECT_EQ(registry.List("acme", "", "", 10).error().code, ErrorCode::kStoreCorrupt);
    EXPECT_EQ(Register(Plan("a")).error().code, ErrorCode::kStoreCorrupt);
  }
}

}  // namespace
}  // namespace everstep
