// What every StateStore must do with sinks and their dead letters.

#include "testing/store_contract.h"

namespace everstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SinkContract : public StoreContract {
 protected:
  SinkMark Mark(const SinkKey& key) {
    const auto mark = bench_.Read()->FindSink(key);
    EXPECT_TRUE(mark && *mark);
    return mark && *mark ? **mark : SinkMark{};
  }
  using Places = std::vector<std::pair<RunId, EventSeq>>;
  Status Move(const SinkMark& mark, const std::vector<DeadLetter>& died = {},
              const Places& gone = {}) {
    return bench_.store().MoveSink({mark, died, gone});
  }
  static DeadLetter Letter(const char* run, std::uint64_t seq) {
    return {RunId(run), EventSeq(seq), EventType::kStepFailed, FromMicros(7), FromMicros(9),
            3,          "HTTP 422"};
  }
  std::vector<std::string> Letters(const DeadLetterQuery& query) {
    const auto letters = bench_.Read()->ListDeadLetters(query);
    EXPECT_TRUE(letters) << ToString(letters.error());
    std::vector<std::string> names;
    for (const DeadLetter& letter : *letters) {
      names.push_back(letter.run_id.value() + ":" + std::to_string(letter.seq.value()));
    }
    return names;
  }

  const SinkKey sink_{"acme", "hook"};
};

INSTANTIATE_TEST_SUITE_P(Engines, SinkContract, testing::ValuesIn(AllEngines()), EngineName);

TEST_P(SinkContract, ASinkIsWhereItWasMovedTo) {
  EXPECT_FALSE(*bench_.Read()->FindSink(sink_));
  ASSERT_TRUE(Move({sink_, Position(5)}));
  ASSERT_TRUE(Move({{"", "all"}, Position(2), false}));
  ASSERT_TRUE(Move({sink_, Position(9)}));
  EXPECT_EQ(Mark(sink_), (SinkMark{sink_, Position(9), true, 0}));
  EXPECT_THAT(*bench_.Read()->ListSinks(), ElementsAre(SinkMark{{"", "all"}, Position(2), false, 0},
                                                       SinkMark{sink_, Position(9), true, 0}));
}

TEST_P(SinkContract, DeadLettersAreCountedAndListedByRunAndSeq) {
  ASSERT_TRUE(Move({sink_, Position(1)}, {Letter("b", 10), Letter("a", 2), Letter("b", 9)}));
  ASSERT_TRUE(Move({{"acme", "hoo"}, Position(1)}, {Letter("b", 1)}));
  EXPECT_EQ(Mark(sink_).dead_letters, 3U);
  EXPECT_THAT(Letters({.sink = sink_}), ElementsAre("a:2", "b:9", "b:10"));
  EXPECT_THAT(Letters({.sink = sink_, .run_id = RunId("b")}), ElementsAre("b:9", "b:10"));
  EXPECT_THAT(Letters({.sink = sink_, .limit = 2}), ElementsAre("a:2", "b:9"));
  EXPECT_THAT(Letters({.sink = sink_, .after_run = RunId("b"), .after_seq = EventSeq(9)}),
              ElementsAre("b:10"));
  EXPECT_THAT(
      Letters(
          {.sink = sink_, .run_id = RunId("b"), .after_run = RunId("a"), .after_seq = EventSeq(2)}),
      ElementsAre("b:9", "b:10"));
  EXPECT_EQ(bench_.Read()->ListDeadLetters({.sink = sink_})->front(), Letter("a", 2));
}

TEST_P(SinkContract, ALetterThatIsWrittenAnewOrGoneTwiceCountsOnce) {
  ASSERT_TRUE(Move({sink_, Position(1)}, {Letter("a", 1), Letter("a", 2)}));
  DeadLetter again = Letter("a", 1);
  again.attempts = 7;
  ASSERT_TRUE(Move({sink_, Position(1)}, {again}));
  EXPECT_EQ(Mark(sink_).dead_letters, 2U);
  EXPECT_EQ(bench_.Read()->ListDeadLetters({.sink = sink_})->front(), again);
  const std::pair<RunId, EventSeq> first{RunId("a"), EventSeq(1)};
  ASSERT_TRUE(Move({sink_, Position(2)}, {}, {first, first}));
  ASSERT_TRUE(Move({sink_, Position(2)}, {}, {first}));
  EXPECT_EQ(Mark(sink_).dead_letters, 1U);
  EXPECT_THAT(Letters({.sink = sink_}), ElementsAre("a:2"));
}

TEST_P(SinkContract, ARemovedSinkLeavesNothing) {
  ASSERT_TRUE(Move({sink_, Position(1)}, {Letter("a", 1)}));
  ASSERT_TRUE(Move({{"acme", "hook2"}, Position(1)}, {Letter("a", 1)}));
  ASSERT_TRUE(bench_.store().RemoveSink(sink_));
  EXPECT_FALSE(*bench_.Read()->FindSink(sink_));
  EXPECT_THAT(Letters({.sink = sink_}), IsEmpty());
  EXPECT_THAT(Letters({.sink = {"acme", "hook2"}}), ElementsAre("a:1"));
}

class KeptSinkContract : public SinkContract {};
INSTANTIATE_TEST_SUITE_P(Engines, KeptSinkContract, testing::ValuesIn(KeepingEngines()),
                         EngineName);

TEST_P(KeptSinkContract, MarksAndLettersOutliveTheProcess) {
  ASSERT_TRUE(Move({sink_, Position(4)}, {Letter("a", 1)}));
  ReopenStore();
  EXPECT_EQ(Mark(sink_), (SinkMark{sink_, Position(4), true, 1}));
  EXPECT_THAT(Letters({.sink = sink_}), ElementsAre("a:1"));
}

}  // namespace
}  // namespace everstep
