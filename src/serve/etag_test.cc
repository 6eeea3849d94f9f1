#include "serve/etag.h"

#include <gtest/gtest.h>

namespace everstep {
namespace {

TEST(EtagTest, AnyTagInTheListMatchesWeakOrStrong) {
  EXPECT_TRUE(NoneMatchHas("\"7\"", "\"7\""));
  EXPECT_TRUE(NoneMatchHas("W/\"7\"", "\"7\""));
  EXPECT_TRUE(NoneMatchHas("\"6\", W/\"7\" ,\"8\"", "\"7\""));
  EXPECT_TRUE(NoneMatchHas("*", "\"7\""));
}

TEST(EtagTest, OtherTagsDoNotMatch) {
  EXPECT_FALSE(NoneMatchHas("", "\"7\""));
  EXPECT_FALSE(NoneMatchHas("\"77\"", "\"7\""));
  EXPECT_FALSE(NoneMatchHas("7", "\"7\""));
  EXPECT_FALSE(NoneMatchHas("\"6\" \"", "\"7\""));
  EXPECT_FALSE(NoneMatchHas("\"a,\"7\"", "\"7\"")) << "the quote belongs to another tag";
}

}  // namespace
}  // namespace everstep
