#include "serve/router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace everstep {
namespace {

using enum RouteMatch::Outcome;

class RouterTest : public ::testing::Test {
 protected:
  RouteMatch Match(std::string_view method, std::string_view path) const {
    return router_.Match(method, path);
  }
  std::string OperationOf(std::string_view method, std::string_view path) const {
    const RouteMatch match = Match(method, path);
    return match.outcome == kFound ? std::string(match.route->operation) : "";
  }

  Router router_{Routes()};
};

// The template's path with values in place of parameters.
std::string ExampleOf(std::string_view path) {
  std::string example;
  bool inside = false;
  for (const char c : path) {
    if (c == '{') example += "v-1";
    if (c == '{' || c == '}') {
      inside = c == '{';
    } else if (!inside) {
      example.push_back(c);
    }
  }
  return example;
}

TEST_F(RouterTest, EveryRouteIsFoundByItsOwnPath) {
  for (const Route& route : Routes()) {
    const RouteMatch match = Match(route.method, ExampleOf(route.path));
    ASSERT_EQ(match.outcome, kFound) << route.path;
    EXPECT_EQ(match.route, &route) << route.path;
    const auto braces = std::count(route.path.begin(), route.path.end(), '{');
    EXPECT_EQ(match.parameters.size(), static_cast<std::size_t>(braces)) << route.path;
  }
}

TEST_F(RouterTest, OperationsAreNamedOnce) {
  std::set<std::string_view> names;
  for (const Route& route : Routes()) EXPECT_TRUE(names.insert(route.operation).second);
}

TEST_F(RouterTest, OnlyTheseRoutesAreOpen) {
  std::set<std::string_view> open;
  for (const Route& route : Routes()) {
    if (!route.permission) open.insert(route.operation);
  }
  EXPECT_EQ(open,
            (std::set<std::string_view>{"getLiveness", "getReadiness", "getOpenApi", "getErrorPage",
                                        "receiveWebhook", "receiveSignedEvents"}));
}

TEST_F(RouterTest, WritesNeedMoreThanReadPermissions) {
  for (const Route& route : Routes()) {
    if (!route.permission || *route.permission == Permission::kTokenManage) continue;
    const bool reads = Name(*route.permission).ends_with(".read");
    // Checking a plan writes nothing; each call of an application is checked separately.
    const bool may_read = route.operation == "checkPlan" || route.operation == "callWorld";
    EXPECT_EQ(reads, route.method == "GET" || may_read) << route.operation;
  }
}

TEST_F(RouterTest, ParametersAreDecodedSegmentBySegment) {
  const RouteMatch match = Match("GET", "/v1/runs/r%3A1/steps/a%2Fb+c");
  ASSERT_EQ(match.outcome, kFound);
  EXPECT_EQ(match.Parameter("runId"), "r:1");
  EXPECT_EQ(match.Parameter("stepId"), "a/b+c");
}

TEST_F(RouterTest, LiteralsPrecedeParametersIfTheyHaveTheMethod) {
  EXPECT_EQ(OperationOf("POST", "/v1/plans/check"), "checkPlan");
  EXPECT_EQ(OperationOf("GET", "/v1/plans/check"), "getPlan");
  EXPECT_EQ(Match("DELETE", "/v1/plans/check").allow, "POST, GET, HEAD");
}

TEST_F(RouterTest, UnknownPathsAreNotFound) {
  for (const std::string_view path :
       {"", "/", "/v1", "/v2/runs", "/v1/runs/", "/v1/runs//steps", "/v1/runs/r/steps/s/t",
        "v1/runs", "/v1/runs/r/", "//v1/runs", "/V1/runs", "/v1/runs/r1/nothing", "*"}) {
    EXPECT_EQ(Match("GET", path).outcome, kNotFound) << path;
  }
  EXPECT_EQ(Match("GET", std::string(8'000, '/')).outcome, kNotFound);
}

TEST_F(RouterTest, OtherMethodsGetTheAllowedOnes) {
  EXPECT_EQ(Match("DELETE", "/v1/runs").outcome, kMethodNotAllowed);
  EXPECT_EQ(Match("DELETE", "/v1/runs").allow, "POST, GET, HEAD");
  EXPECT_EQ(Match("OPTIONS", "/v1/runs/r1").allow, "GET, HEAD");
  EXPECT_EQ(Match("GET", "/v1/runs/r1/cancel").allow, "POST");
  EXPECT_EQ(Match("get", "/v1/runs").outcome, kMethodNotAllowed);
  EXPECT_EQ(Match("HEAD", "/v1/runs/r1/cancel").outcome, kMethodNotAllowed);
}

TEST_F(RouterTest, EveryGetRouteAcceptsHead) {
  for (const Route& route : Routes()) {
    if (route.method != "GET") continue;
    const RouteMatch match = Match("HEAD", ExampleOf(route.path));
    ASSERT_EQ(match.outcome, kFound) << route.path;
    EXPECT_TRUE(match.head);
    EXPECT_EQ(match.route, &route);
  }
  EXPECT_FALSE(Match("GET", "/v1/runs").head);
}

TEST_F(RouterTest, BadEscapesAreMalformed) {
  for (const std::string_view path : {"/v1/runs/%", "/v1/runs/%00", "/v1/%zz", "/v1/runs/%ff"}) {
    EXPECT_EQ(Match("GET", path).outcome, kMalformedPath) << path;
  }
}

}  // namespace
}  // namespace everstep
