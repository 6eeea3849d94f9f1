#include "everstep/error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace everstep {
namespace {

TEST(ErrorCodeTest, EveryCodeHasItsOwnUpperCaseName) {
  std::set<std::string_view> names;
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const std::string_view name = Name(static_cast<ErrorCode>(i));
    EXPECT_EQ(name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_"), std::string_view::npos)
        << name;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  EXPECT_EQ(Name(ErrorCode::kRunTerminal), "RUN_TERMINAL");
  EXPECT_EQ(Name(ErrorCode::kStoreIo), "STORE_IO");
}

TEST(ErrorCodeTest, StoreCodesAreThoseNamedAfterIt) {
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    EXPECT_EQ(KindOf(code) == ErrorKind::kStore, Name(code).starts_with("STORE_")) << Name(code);
  }
}

TEST(ErrorCodeTest, TheKindSaysWhoHasToAct) {
  EXPECT_EQ(KindOf(ErrorCode::kInvalidJson), ErrorKind::kInput);
  EXPECT_EQ(KindOf(ErrorCode::kEventTooLarge), ErrorKind::kInput);
  EXPECT_EQ(KindOf(ErrorCode::kRunNotFound), ErrorKind::kRejection);
  EXPECT_EQ(KindOf(ErrorCode::kChildTerminal), ErrorKind::kRejection);
  EXPECT_EQ(KindOf(ErrorCode::kIndeterminate), ErrorKind::kIndeterminate);
}

TEST(ErrorTest, TextIsCodeMessageAndOneLinePerFault) {
  EXPECT_EQ(ToString({ErrorCode::kRunTerminal, "run r1 is COMPLETED", {}}),
            "RUN_TERMINAL: run r1 is COMPLETED");
  EXPECT_EQ(ToString({ErrorCode::kSchemaValidationFailed,
                      "2 faults",
                      {{"", "must be an object"}, {"/runId", "must not contain '|'"}}}),
            "SCHEMA_VALIDATION_FAILED: 2 faults\n  (document): must be an object\n"
            "  /runId: must not contain '|'");
}

}  // namespace
}  // namespace everstep
