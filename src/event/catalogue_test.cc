#include "event/catalogue.h"

#include <gtest/gtest.h>

#include <set>

namespace everstep {
namespace {

TEST(CatalogueTest, HasOneRowPerTypeAtItsNumber) {
  ASSERT_EQ(Catalogue().size(), static_cast<std::size_t>(kEventTypeCount));
  int number = 1;
  for (const EventSpec& spec : Catalogue()) {
    EXPECT_EQ(static_cast<int>(spec.type), number++);
    EXPECT_EQ(&SpecOf(spec.type), &spec);
    EXPECT_FALSE(spec.transition.empty()) << spec.name;
    EXPECT_TRUE(spec.meaning.ends_with('.')) << spec.name;
  }
}

TEST(CatalogueTest, EveryTypeIsFoundByItsNameAndByNoOther) {
  std::set<std::string_view> names;
  for (const EventSpec& spec : Catalogue()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_EQ(EventTypeNamed(spec.name), spec.type);
  }
  for (const std::string_view name :
       {"", "A", "runStarted", "RunStarted ", "RunStarte", "run_started", "ZZZ"}) {
    EXPECT_EQ(EventTypeNamed(name), std::nullopt) << name;
  }
}

TEST(CatalogueTest, TypesOfLaterVersionsAreUnknown) {
  EXPECT_FALSE(IsKnown(static_cast<EventType>(0)));
  EXPECT_TRUE(IsKnown(EventType::kRunQueued));
  EXPECT_TRUE(IsKnown(EventType::kChildFinished));
  EXPECT_FALSE(IsKnown(static_cast<EventType>(kEventTypeCount + 1)));
  EXPECT_FALSE(IsKnown(static_cast<EventType>(255)));
}

TEST(CatalogueTest, NamesBeginWithTheirEntity) {
  for (const EventSpec& spec : Catalogue()) {
    if (spec.entity == EntityKind::kIteration) {
      EXPECT_TRUE(spec.name.starts_with("LoopIteration")) << spec.name;
      continue;
    }
    std::string prefix(Name(spec.entity));
    prefix[0] = static_cast<char>(std::toupper(prefix[0]));
    EXPECT_TRUE(spec.name.starts_with(prefix)) << spec.name;
  }
}

std::set<std::string_view> NamesWhere(bool EventSpec::*column) {
  std::set<std::string_view> names;
  for (const EventSpec& spec : Catalogue()) {
    if (spec.*column) names.insert(spec.name);
  }
  return names;
}

TEST(CatalogueTest, TheContractHasFifteenEvents) {
  EXPECT_EQ(NamesWhere(&EventSpec::in_contract),
            (std::set<std::string_view>{"RunQueued", "RunApproved", "RunStarted", "RunPaused",
                                        "RunResumed", "RunCompleted", "RunFailed", "RunCancelled",
                                        "StepStarted", "StepFailed", "StepCompleted", "StepSkipped",
                                        "StepDelayed", "SignalAccepted", "SignalRejected"}));
}

TEST(CatalogueTest, OnlyAConflictCannotBeWrittenByACaller) {
  EXPECT_EQ(NamesWhere(&EventSpec::recorded_only), (std::set<std::string_view>{"HookConflict"}));
}

TEST(CatalogueTest, MarksTheEventsThatRepeatWithinOneAttempt) {
  EXPECT_EQ(NamesWhere(&EventSpec::repeats),
            (std::set<std::string_view>{
                "StepDelayed", "ToolStarted", "ToolProcessed", "LoopStarted", "LoopFinished",
                "CaseStarted", "LoopIterationStarted", "LoopIterationFinished", "CaseEvaluated",
                "NextEvaluated", "RetryStarted", "RetryProcessed", "SinkStarted", "SinkProcessed",
                "ContextUpdated", "HookReceived", "ErrorRecorded", "ErrorResolved",
                "ErrorUnrecoverable"}));
}

}  // namespace
}  // namespace everstep
