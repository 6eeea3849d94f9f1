#include "work/plan_source.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testing/loopback_http_server.h"
#include "testing/temporary_directory.h"

namespace everstep {
namespace {

constexpr const char* kPlan =
    "metadata: {planId: orders, planVersion: 1.0.0, schemaVersion: v1.1}\n"
    "steps:\n  - {stepId: one, kind: noop}\n";

class PlanSourceTest : public testing::Test {
 protected:
  ErrorCode CodeOf(PlanSource& source, const std::string& uri, const std::string& base = "") {
    const auto fetched = source.Fetch(uri, base);
    EXPECT_FALSE(fetched) << uri;
    return fetched ? ErrorCode::kInvalidArgument : fetched.error().code;
  }

  TemporaryDirectory directory_;
  ToolOptions options_;
};

TEST_F(PlanSourceTest, ReadsFilesByUriAndByPath) {
  std::filesystem::create_directories(directory_ / "a dir/sub");
  std::ofstream(directory_ / "a dir/plan.yaml") << kPlan;
  PlanSource source(options_);
  EXPECT_EQ(*source.Fetch("plan.yaml", directory_ / "a dir"), kPlan);
  EXPECT_EQ(*source.Fetch("file://" + directory_.path() + "/a%20dir/plan.yaml"), kPlan);
  EXPECT_EQ(*source.Fetch("file:" + directory_.path() + "/a%20dir/plan.yaml"), kPlan);
  EXPECT_EQ(
      *source.Fetch("../plan.yaml", "file://" + directory_.path() + "/a%20dir/sub/other.yaml"),
      kPlan);
  EXPECT_EQ(CodeOf(source, "missing.yaml", directory_.path()), ErrorCode::kPlanUnavailable);
  EXPECT_EQ(CodeOf(source, ".", directory_.path()), ErrorCode::kPlanUnavailable);
  EXPECT_EQ(CodeOf(source, "file://elsewhere/plan"), ErrorCode::kPlanUriNotAllowed);
}

TEST_F(PlanSourceTest, AFileThatIsTooLargeIsRefused) {
  const std::string path = directory_ / "large";
  std::ofstream(path) << "x";
  std::filesystem::resize_file(path, kPlanBytesMax + 1);
  PlanSource source(options_);
  EXPECT_EQ(CodeOf(source, path), ErrorCode::kPlanUnavailable);
  std::filesystem::resize_file(path, kPlanBytesMax);
  EXPECT_TRUE(source.Fetch(path));
}

TEST_F(PlanSourceTest, SchemesAndHostsMustBeOnTheAllowLists) {
  LoopbackHttpServer server([](const LoopbackHttpServer::Request& request) {
    if (request.target == "/plans/orders") return LoopbackHttpServer::Response{200, {}, kPlan};
    if (request.target == "/moved") {
      return LoopbackHttpServer::Response{302, {{"Location", "/plans/orders"}}, ""};
    }
    return LoopbackHttpServer::Response{404, {}, ""};
  });
  PlanSource strict(options_);
  EXPECT_EQ(CodeOf(strict, server.Url("/plans/orders")), ErrorCode::kPlanUriNotAllowed);
  EXPECT_EQ(CodeOf(strict, "ftp://host/plan"), ErrorCode::kPlanUriNotAllowed);
  EXPECT_EQ(CodeOf(strict, "artifact:sha256:00"), ErrorCode::kPlanUriNotAllowed);
  options_.plan_schemes = {"http"};
  options_.plan_hosts = {"127.0.0.1"};
  PlanSource source(options_);
  EXPECT_EQ(*source.Fetch(server.Url("/plans/orders")), kPlan);
  EXPECT_EQ(*source.Fetch("orders", server.Url("/plans/parent?x=1")), kPlan);
  EXPECT_EQ(CodeOf(source, server.Url("/missing")), ErrorCode::kPlanUnavailable);
  EXPECT_EQ(CodeOf(source, server.Url("/moved")), ErrorCode::kPlanUnavailable);
  EXPECT_EQ(CodeOf(source, "http://localhost:" + std::to_string(server.port()) + "/"),
            ErrorCode::kPlanUriNotAllowed);
  EXPECT_EQ(CodeOf(source, "http://127.0.0.1@evil.example/"), ErrorCode::kPlanUriNotAllowed);
  EXPECT_EQ(CodeOf(source, "/etc/hosts"), ErrorCode::kPlanUriNotAllowed);
}

TEST_F(PlanSourceTest, WithoutAListOfHostsOnlyPublicAddressesAreReached) {
  LoopbackHttpServer server(
      [](const LoopbackHttpServer::Request&) { return LoopbackHttpServer::Response{}; });
  options_.plan_schemes = {"http"};
  PlanSource source(options_);
  EXPECT_EQ(CodeOf(source, server.Url("/")), ErrorCode::kPlanUriNotAllowed);
}

TEST(VerifyPlan, ADocumentMustMatchTheDigestAndNamesOfItsReference) {
  PlanRef ref{"file:///p", ToHex(Sha256(kPlan)), "v1.1", "orders", "1.0.0"};
  const auto plan = VerifyPlan(ref, kPlan);
  ASSERT_TRUE(plan) << ToString(plan.error());
  EXPECT_EQ((*plan)->plan_id, "orders");
  const auto changed = VerifyPlan(ref, std::string(kPlan) + " ");
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, ErrorCode::kPlanIntegrityValidationFailed);
  EXPECT_NE(changed.error().message.find(ref.sha256), std::string::npos);
  EXPECT_NE(changed.error().message.find(ToHex(Sha256(std::string(kPlan) + " "))),
            std::string::npos);
  ref.plan_version = "2.0.0";
  ref.plan_id = "other";
  const auto mismatch = VerifyPlan(ref, kPlan);
  ASSERT_FALSE(mismatch);
  EXPECT_EQ(mismatch.error().code, ErrorCode::kPlanRefMismatch);
  EXPECT_EQ(mismatch.error().faults.size(), 2U);
  EXPECT_EQ(VerifyPlan({"file:///p", "", "", "", ""}, kPlan).error().code,
            ErrorCode::kPlanIntegrityValidationFailed);
}

}  // namespace
}  // namespace everstep
