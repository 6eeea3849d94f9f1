#include "serve/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/value.h"

namespace everstep {
namespace {

using std::chrono::milliseconds;
using ::testing::Contains;
using ::testing::Not;
using ::testing::Pair;

Value BodyOf(const ServerResponse& response) {
  auto body = ValueFromJson(response.body);
  EXPECT_TRUE(body) << response.body;
  return body ? *body : Value();
}

ServerResponse Answer(const Error& error) { return ToResponse(ProblemOf(error), "t1"); }

TEST(ProblemTest, AnErrorBecomesProblemJsonWithItsFaults) {
  const ServerResponse response = Answer({ErrorCode::kSchemaValidationFailed,
                                          "2 faults",
                                          {{"/runId", "is required"}, {"/x", "is unknown", 3, 7}}});
  EXPECT_EQ(response.status, 422);
  EXPECT_THAT(response.headers, Contains(Pair("Content-Type", "application/problem+json")));
  EXPECT_THAT(response.headers, Contains(Pair("Cache-Control", "no-store")));
  EXPECT_EQ(response.body,
            "{\"type\":\"/docs/errors/SCHEMA_VALIDATION_FAILED\","
            "\"title\":\"The document does not match its schema\",\"status\":422,"
            "\"code\":\"SCHEMA_VALIDATION_FAILED\",\"detail\":\"2 faults\",\"faults\":["
            "{\"pointer\":\"/runId\",\"message\":\"is required\"},"
            "{\"pointer\":\"/x\",\"message\":\"is unknown\",\"line\":3,\"column\":7}],"
            "\"traceId\":\"t1\"}");
}

TEST(ProblemTest, EveryCodeHasAnErrorStatusAndATitle) {
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const Problem problem = ProblemOf(Error{static_cast<ErrorCode>(i), "m", {}});
    EXPECT_GE(problem.status, 400) << problem.code;
    EXPECT_LT(problem.status, 600) << problem.code;
    EXPECT_FALSE(problem.title.empty()) << problem.code;
  }
  std::set<std::string_view> names;
  for (int i = 0; i < kHttpCodeCount; ++i) {
    const auto code = static_cast<HttpCode>(i);
    EXPECT_TRUE(names.insert(Name(code)).second) << Name(code);
    EXPECT_GE(ProblemOf(code, "").status, 400);
  }
}

TEST(ProblemTest, HttpCodesAndErrorCodesDoNotShareNames) {
  for (int i = 0; i < kHttpCodeCount; ++i) {
    for (int k = 0; k < kErrorCodeCount; ++k) {
      EXPECT_NE(Name(static_cast<HttpCode>(i)), Name(static_cast<ErrorCode>(k)));
    }
  }
}

TEST(ProblemTest, InputErrorsAreClientErrorsAndStoreErrorsAreServerErrors) {
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    if (KindOf(code) == ErrorKind::kInput) {
      EXPECT_LT(StatusOf(code), 500) << Name(code);
    }
    if (KindOf(code) == ErrorKind::kStore) {
      EXPECT_GE(StatusOf(code), 500) << Name(code);
    }
  }
}

TEST(ProblemTest, ARunOfAnotherTenantLooksLikeAMissingRun) {
  const ServerResponse foreign =
      Answer({ErrorCode::kAuthzTenantForbidden, "run r7 is of tenant t2", {{"/x", "y"}}});
  const ServerResponse missing = Answer({ErrorCode::kRunNotFound, "there is no run r7", {}});
  EXPECT_EQ(foreign.status, missing.status);
  EXPECT_EQ(foreign.headers, missing.headers);
  EXPECT_EQ(foreign.body, missing.body);
}

TEST(ProblemTest, DetailsOfTheStoreAreNotExposed) {
  const ServerResponse response = Answer(
      {ErrorCode::kStoreCorrupt, "/var/lib/everstep/000012.sst: bad block", {{"/etc", "/var"}}});
  EXPECT_EQ(response.status, 500);
  EXPECT_EQ(response.body.find("/var"), std::string::npos);
}

TEST(ProblemTest, RetryAfterIsRoundedUpToSeconds) {
  Error error{ErrorCode::kAdmissionRejected, "too many runs", {}, milliseconds(2'001)};
  EXPECT_EQ(Answer(error).status, 429);
  EXPECT_THAT(Answer(error).headers, Contains(Pair("Retry-After", "3")));
  error.retry_after = {};
  EXPECT_THAT(Answer(error).headers, Contains(Pair("Retry-After", "1")));
  EXPECT_THAT(Answer({ErrorCode::kRunTerminal, "", {}}).headers,
              Not(Contains(Pair("Retry-After", ::testing::_))));
}

TEST(ProblemTest, CodesHaveTheirHeaders) {
  EXPECT_THAT(ToResponse(ProblemOf(Error{ErrorCode::kUnauthenticated, "no token", {}}), "").headers,
              Contains(Pair("WWW-Authenticate", "Bearer realm=\"everstep\"")));
  const ServerResponse response = ToResponse(MethodNotAllowed("GET, HEAD"), "");
  EXPECT_EQ(response.status, 405);
  EXPECT_THAT(response.headers, Contains(Pair("Allow", "GET, HEAD")));
  EXPECT_TRUE(BodyOf(response).Get("traceId").undefined());
}

TEST(ProblemTest, TheBodyIsValidJsonForAnyMessage) {
  const ServerResponse response =
      Answer({ErrorCode::kInvalidArgument, "bad \"\xff\n", {{"\xc3", "\x01"}}});
  EXPECT_EQ(BodyOf(response).Get("detail").text(), "bad \"\xef\xbf\xbd\n");
}

TEST(ProblemTest, ManyFaultsAreTruncatedWithACount) {
  Error error{ErrorCode::kInvalidPlan, "many", {}};
  for (int i = 0; i < 250; ++i) error.faults.push_back({"/" + std::to_string(i), "wrong"});
  const Value body = BodyOf(Answer(error));
  EXPECT_EQ(body.Get("faults").list().size(), 100U);
  EXPECT_EQ(body.Get("faultsLeftOut").int_value(), 150);
}

}  // namespace
}  // namespace everstep
