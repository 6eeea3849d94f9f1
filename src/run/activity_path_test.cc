#include "run/activity_path.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "event/identifier.h"
#include "run/activity_table.h"

namespace everstep {
namespace {

TEST(ActivityPathTest, NestsAndRepeats) {
  const ActivityPath run;
  EXPECT_EQ(run.Child("Charge").Id(), "Charge");
  EXPECT_EQ(run.Child("Outer").At(2).Child("Charge", 3).Id(), "Outer[2]/Charge#3");
  EXPECT_EQ(run.Child("Outer", 4).At(0).Id(), "Outer[0]#4");
  EXPECT_EQ(run.Child("A").Child("B", 2).Child("C").Id(), "A/B#2/C");
}

TEST(ActivityPathTest, ReservedCharactersAreEscaped) {
  const ActivityPath run;
  EXPECT_EQ(run.Child("a/b[1]#2%|").Id(), "a%2Fb%5B1%5D%232%25%7C");
  EXPECT_EQ(run.Child("line\nfeed\x7f").Id(), "line%0Afeed%7F");
  EXPECT_EQ(run.Child("caf\u00e9 \u0085").Id(), "caf\u00e9 %C2%85");
  EXPECT_NE(run.Child("a").Child("b").text(), run.Child("a/b").text());
  EXPECT_NE(run.Child("a", 2).text(), run.Child("a#2").text());
}

TEST(ActivityPathTest, ALongPathIsCutAndTellsItselfApartByItsDigest) {
  ActivityPath path;
  for (int i = 0; i < 60; ++i) path = path.Child("scope").At(7);
  const std::string id = path.Child("a").Id();
  EXPECT_TRUE(IsName(id)) << id;
  EXPECT_EQ(id.size(), ActivityPath::kIdCharactersMax);
  EXPECT_EQ(id.substr(0, 18), "scope[7]/scope[7]/");
  EXPECT_NE(id, path.Child("b").Id());
  EXPECT_EQ(id, path.Child("a").Id());
}

TEST(ActivityPathTest, ManyBytesOfFewCharactersAreNotLong) {
  std::string name;
  for (int i = 0; i < 100; ++i) name += "\u00e9";
  EXPECT_EQ(ActivityPath().Child(name).Id(), name);
}

RC_GTEST_PROP(ActivityPathTest, EveryIdIsAName, ()) {
  ActivityPath path;
  const auto depth = *rc::gen::inRange(1, 40);
  for (int i = 0; i < depth; ++i) {
    auto name = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)));
    path = path.Child(name, *rc::gen::inRange<std::uint32_t>(1, 1000));
    if (*rc::gen::arbitrary<bool>()) path = path.At(*rc::gen::inRange<std::uint32_t>(0, 100'000));
  }
  RC_ASSERT(IsName(path.Id()));
  RC_ASSERT(IsName(PurposeId("timeout", path.Id(), UINT32_MAX)));
}

}  // namespace
}  // namespace everstep
