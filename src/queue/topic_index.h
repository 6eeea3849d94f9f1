#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/timestamp.h"

namespace everstep {

// Topics, each with a rank. Finds the first of all that begin with a prefix without looking at the
// others: every call is O(log n). Not thread-safe.
class TopicIndex {
 public:
  using Rank = std::pair<Timestamp, std::uint64_t>;  // due time, then order of arrival

  TopicIndex();
  ~TopicIndex();

  // Adds the topic or gives it another rank.
  void Set(const std::string& topic, Rank rank);
  void Remove(const std::string& topic);
  // The topic with the least rank among those that begin with `prefix`; null if there is none. The
  // result is valid until the next Set or Remove.
  const std::string* First(std::string_view prefix) const;

 private:
  struct Tree;
  std::unique_ptr<Tree> tree_;
};

}  // namespace everstep
