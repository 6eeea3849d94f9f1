#include "exit_codes.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

namespace everstep::cli {
namespace {

std::set<std::string> CodesWith(ExitCode wanted) {
  std::set<std::string> names;
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    if (ExitCodeOf(code) == wanted) names.emplace(Name(code));
  }
  return names;
}

TEST(ExitCodesTest, MissingObjectsAreNotFound) {
  std::set<std::string> expected = {"RUN_EXPIRED", "PLAN_UNAVAILABLE", "SECRET_UNAVAILABLE"};
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const std::string_view name = Name(static_cast<ErrorCode>(i));
    if (name.ends_with("NOT_FOUND")) expected.emplace(name);
  }
  EXPECT_EQ(CodesWith(ExitCode::kNotFound), expected);
}

TEST(ExitCodesTest, UnavailableServersAndRefusedCredentialsHaveTheirOwnCodes) {
  EXPECT_EQ(CodesWith(ExitCode::kUnavailable),
            (std::set<std::string>{"ENGINE_STOPPED", "SERVER_UNAVAILABLE"}));
  EXPECT_EQ(CodesWith(ExitCode::kNotAllowed),
            (std::set<std::string>{"AUTHZ_DENIED", "AUTHZ_TENANT_FORBIDDEN", "UNAUTHENTICATED"}));
}

// Code 1 also means that the run FAILED, so it must only be used for outcomes that the run or the
// rules of runs decided.
TEST(ExitCodesTest, OnlyTheRulesOfRunsExitWithRefused) {
  EXPECT_EQ(CodesWith(ExitCode::kRefused),
            (std::set<std::string>{
                "RUN_ALREADY_EXISTS", "RUN_SCOPE_MISMATCH", "RUN_NOT_STARTED", "RUN_PAUSED",
                "RUN_TERMINAL", "INVALID_TRANSITION", "STEP_TERMINAL", "STEP_ATTEMPT_STALE",
                "HOOK_TERMINAL", "WAIT_TERMINAL", "SIGNAL_DUPLICATE", "ERROR_NOT_OPEN",
                "CHILD_TERMINAL", "TENANT_FULL", "ADMISSION_REJECTED", "AUTHZ_REASON_REQUIRED",
                "STEP_NOT_TERMINAL", "RUN_OWNED_BY_ENGINE", "PLAN_VERSION_TAKEN"}));
}

TEST(ExitCodesTest, StoreErrorsAndIndeterminateWritesHaveTheirOwnCodes) {
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    if (code == ErrorCode::kStoreNotFound) continue;
    if (KindOf(code) == ErrorKind::kStore) {
      EXPECT_EQ(ExitCodeOf(code), ExitCode::kStore) << Name(code);
    }
  }
  EXPECT_EQ(CodesWith(ExitCode::kIndeterminate), std::set<std::string>{"INDETERMINATE"});
  EXPECT_EQ(CodesWith(ExitCode::kUsage), std::set<std::string>{"INVALID_ARGUMENT"});
  EXPECT_EQ(CodesWith(ExitCode::kAddressInUse), std::set<std::string>{"ADDRESS_IN_USE"});
}

}  // namespace
}  // namespace everstep::cli
