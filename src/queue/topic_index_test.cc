#include "queue/topic_index.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>

namespace everstep {
namespace {

TopicIndex::Rank At(std::int64_t micros, std::uint64_t order = 0) {
  return {FromMicros(micros), order};
}

TEST(TopicIndexTest, FindsTheFirstOfThoseWithAPrefix) {
  TopicIndex index;
  EXPECT_EQ(index.First(""), nullptr);
  index.Set("orders.new", At(5));
  index.Set("orders.old", At(3));
  index.Set("invoices", At(1));
  EXPECT_EQ(*index.First(""), "invoices");
  EXPECT_EQ(*index.First("orders."), "orders.old");
  EXPECT_EQ(index.First("orders.older"), nullptr);
  EXPECT_EQ(index.First("p"), nullptr);
  index.Set("orders.old", At(9));
  EXPECT_EQ(*index.First("orders."), "orders.new");
  index.Remove("orders.new");
  EXPECT_EQ(*index.First("orders."), "orders.old");
  index.Remove("orders.new");
}

RC_GTEST_PROP(TopicIndexPropertyTest, FindsWhatASearchThroughAllFinds, ()) {
  TopicIndex index;
  std::map<std::string, TopicIndex::Rank> model;
  const auto word = rc::gen::container<std::string>(rc::gen::element('a', 'b', '\xff'));
  const int acts = *rc::gen::inRange(1, 100);
  for (int act = 0; act < acts; ++act) {
    const std::string topic = *word;
    if (*rc::gen::inRange(0, 4) == 0) {
      index.Remove(topic);
      model.erase(topic);
    } else {
      const auto rank = At(*rc::gen::inRange(0, 5), static_cast<std::uint64_t>(act));
      index.Set(topic, rank);
      model[topic] = rank;
    }
    const std::string prefix = *word;
    const std::string* expected = nullptr;
    for (const auto& [name, rank] : model) {
      if (!name.starts_with(prefix)) continue;
      if (expected == nullptr || rank < model.at(*expected)) expected = &name;
    }
    const std::string* const found = index.First(prefix);
    RC_ASSERT((found == nullptr) == (expected == nullptr));
    if (found != nullptr) RC_ASSERT(*found == *expected);
  }
}

}  // namespace
}  // namespace everstep
